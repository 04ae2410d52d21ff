import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { findCommand, firstSeen, type Gap, gapFinder } from '../../api/missed-calls.ts'
import type { ServerEvent } from '../../api/sse.ts'
import { listen } from '../../api/stream.ts'
import { CliError, type ExitCode } from '../../context.ts'
import { eventLine, parsed } from '../../event-line.ts'
import { action, type Cli, type Invocation } from '../command.ts'

type Options = { source?: string; json?: true }

const RECONNECT_MS = 2_000
/** A reconnected stream repeats these events. Equal reports of skipped calls are about different calls. */
const CAN_REPEAT: ReadonlySet<string> = new Set(['call', 'rejected', 'attempt'])

export function addTail({ program, ...cli }: Cli): void {
  program
    .command('tail')
    .argument('<source>', 'id of a source, or "events" for all sources')
    .summary('watch the calls of a source, or of all')
    .description(
      `Prints the latest calls with their last attempts, then each new call, rejected call and delivery attempt, until Ctrl-C. Above a \
hundred per second it skips some, and prints how many. If the connection breaks, it reconnects. If it may have missed calls meanwhile, \
it prints the command that finds them. With --json, it prints all attempts of the latest calls.`,
    )
    .option('--source <id>', 'with "events": only this source')
    .option(
      '--json',
      'print JSON lines: {"event": "call" | "rejected" | "attempt" | "skipped" | "missed" | "ready" | "ended", "data": ...}',
    )
    .addHelpText(
      'after',
      `
Examples:
  $ sluice tail events
  $ sluice tail shop                    # or: tail events --source shop
  $ sluice tail shop --json | jq 'select(.event == "rejected") | .data'`,
    )
    .action(action<Options>(cli, act))
}

async function act(invocation: Invocation<Options>): Promise<ExitCode> {
  const { args, options, target, out, err } = invocation
  const source = sourceOf(args[0], options)
  const path = source === undefined ? 'live' : `sources/${encodeURIComponent(source)}/live`
  const found = await target()
  const signal = out.closed
  const isNew = firstSeen<ServerEvent>(({ id, event, data }) => id ?? `${event} ${data}`)
  const gaps = gapFinder()
  let hasBegun = false
  function show(event: ServerEvent): void {
    const isShown = !CAN_REPEAT.has(event.event) || isNew(event)
    const gap = gaps.received({ ...event, data: parsed(event.data) }, isShown)
    if (gap) out.line(options.json ? JSON.stringify({ event: 'missed', data: gap }) : missedLine(gap, source))
    if (event.event === 'ready' && !options.json) err.line('Watching for new calls; Ctrl-C ends.')
    else if (isShown && (options.json || event.event !== 'ended'))
      out.line(options.json ? asJson(event) : eventLine(event))
    if (event.event === 'ended') throw ended(event)
  }
  while (!signal.aborted) {
    const selected = options.json ? (event: ServerEvent) => [event] : latestPastAttempts()
    gaps.opened()
    try {
      for await (const received of listen(found, { path, signal })) {
        hasBegun = true
        for (const event of selected(received)) show(event)
      }
    } catch (error) {
      // control may be restarting
      if (!hasBegun || !(error instanceof CliError) || error.code !== 'unreachable') throw error
    }
    if (signal.aborted) break
    err.line(`The stream has ended; reconnecting in ${RECONNECT_MS / 1_000} s.`)
    await sleep(RECONNECT_MS, undefined, { signal }).catch(() => undefined)
  }
  return 0
}

/** @returns undefined for all sources. `--source` is for a source with the id `events`. */
function sourceOf(what = '', { source }: Pick<Options, 'source'>): string | undefined {
  if (what !== 'events' && source !== undefined)
    throw new CliError('usage', `Name the source once: tail ${source}, or tail events --source ${source}`)
  return what === 'events' ? source : what
}

const reason = z.object({ code: z.string(), message: z.string() })

function ended({ data }: ServerEvent): CliError {
  const known = reason.safeParse(parsed(data)).data
  return new CliError('refused', known ? `The stream has ended: ${known.message} (${known.code})` : data)
}

const attempted = z.object({ deliveryId: z.string(), urlIndex: z.number() })

/**
 * Selects what to show of a stream: of the attempts before `ready`, only the latest for each webhook of a delivery. A
 * delivery that waits for its webhook adds a deferral every few seconds.
 */
export function latestPastAttempts(): (event: ServerEvent) => ServerEvent[] {
  const past = new Map<string, ServerEvent>()
  let isReady = false
  return (event) => {
    if (event.event === 'ready') {
      isReady = true
      const attempts = [...past.values()]
      past.clear()
      return [...attempts, event]
    }
    const read =
      isReady || event.event !== 'attempt' ? undefined : attempted.safeParse(parsed(event.data)).data
    if (!read) return [event]
    const key = `${read.deliveryId} ${read.urlIndex}`
    // the latest comes last
    past.delete(key)
    past.set(key, event)
    return []
  }
}

const missedLine = (gap: Gap, source: string | undefined) =>
  `missed  Calls may be missing above. To find them: ${findCommand(gap, source)}`

const asJson = ({ event, data }: ServerEvent) => `{"event":${JSON.stringify(event)},"data":${data}}`
