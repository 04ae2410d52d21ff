import { setTimeout as sleep } from 'node:timers/promises'
import type { Told } from '../api/sse.ts'
import { listen } from '../api/stream.ts'
import { once, toldLine } from '../live-line.ts'
import { CliFault, type ExitCode } from '../world.ts'
import { type Adding, type Doing, doing } from './command.ts'

type Options = { source?: string; json?: true }

const AGAIN_MS = 2_000

export function addTail({ program, ...adding }: Adding): void {
  program
    .command('tail')
    .argument('<source>', 'its id; or events, for all sources')
    .summary('calls of a source, or of all, as they come')
    .description(
      `Prints the last calls, then each that comes, those that are rejected, and what came of their deliveries; until Ctrl-C. Past a
hundred a second it leaves out, and says how many.`,
    )
    .option('--source <id>', 'with events: those of this source alone')
    .option(
      '--json',
      'as lines of JSON: {"event": "call" | "rejected" | "attempt" | "skipped" | "ready", "data": ...}',
    )
    .addHelpText(
      'after',
      `
Examples:
  $ sluice tail events
  $ sluice tail shop                    # or: tail events --source shop
  $ sluice tail shop --json | jq 'select(.event == "rejected") | .data'`,
    )
    .action(doing<Options>(adding, act))
}

async function act(given: Doing<Options>): Promise<ExitCode> {
  const { args, options, target, out, err } = given
  const path = pathOf(args[0] ?? '', options.source)
  const found = await target()
  const signal = out.closed
  // who comes again is told the last calls again
  const isNew = once<Told>(({ id, event, data }) => id ?? `${event} ${data}`)
  let hasBegun = false
  while (!signal.aborted) {
    try {
      for await (const told of listen(found, { path, signal })) {
        hasBegun = true
        if (told.event === 'ready' || isNew(told)) out.line(options.json ? asJson(told) : toldLine(told))
      }
    } catch (error) {
      // control is being started again, perhaps
      if (!hasBegun || !(error instanceof CliFault) || error.code !== 'unreachable') throw error
    }
    if (signal.aborted) break
    err.line(`The stream has ended: again in ${AGAIN_MS / 1_000} s.`)
    await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined)
  }
  return 0
}

/** A source that is itself called `events` is told by the option. */
function pathOf(what: string, source: string | undefined): string {
  if (what === 'events' && source === undefined) return 'live'
  if (what !== 'events' && source !== undefined)
    throw new CliFault('usage', `Give the source once: tail ${source}, or tail events --source ${source}`)
  return `sources/${encodeURIComponent(source ?? what)}/live`
}

/** What comes from the API is JSON already. */
const asJson = ({ event, data }: Told) => `{"event":${JSON.stringify(event)},"data":${data}}`
