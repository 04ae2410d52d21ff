import type { Api } from '../../api/client.ts'
import { readStatus, type SystemProblem } from '../../api/status.ts'
import type { ExitCode, Output } from '../../context.ts'
import { plain } from '../../table.ts'
import { action, type Cli, type Invocation } from '../command.ts'
import { overview, stateShown } from './health.ts'

type Options = { json?: true }

export function addStatus({ program, ...cli }: Cli): void {
  program
    .command('status')
    .summary('show whether anything is wrong')
    .description(
      `Shows whether anything is wrong with the system right now: what, since when, and what to do. It covers consumer groups that \
have stopped or make no progress, Kafka, its disk space and topics, lost records, and settings that cannot be read. A group in \
trouble shows after 20 to 30 s (longer if RESPONSE_TIMEOUT is above 10 s).

It also names destinations whose webhooks fail or reject, which sluice health shows in detail.

The exit code is 0 if nothing is wrong with the system, 2 if something is, and 1 on an error, such as no answer from control. \
Webhooks in trouble do not change it.`,
    )
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice status
  $ sluice status --json | jq -r '.problems[].code'`,
    )
    .action(action<Options>(cli, act))
}

async function act({ options, control, target, out, now }: Invocation<Options>): Promise<ExitCode> {
  const api = await control()
  const answer = await readStatus(api)
  const { state, problems } = answer
  if (options.json) out.line(JSON.stringify(answer))
  else {
    const failing = await failingDestinations(api)
    if (state === 'ok') out.line(out.styled('green', `OK: nothing is wrong${failing && ' with the system'}.`))
    const { control: console } = await target()
    for (const problem of problems) show(problem, { out, console, now: now() })
    if (failing) out.line(`Webhooks in trouble: ${failing}. See sluice health.`)
  }
  return state === 'ok' ? 0 : 2
}

const TROUBLE = ['failing', 'rejecting']

/** Such as "crm (rejecting: 401), erp (failing)". Empty if none fail or control cannot tell. */
async function failingDestinations(api: Api): Promise<string> {
  const { status, body } = await api({ path: 'health' })
  const parsed = status === 200 ? overview.safeParse(body) : undefined
  const failing = parsed?.data?.items.filter(({ state }) => TROUBLE.includes(state)) ?? []
  return failing
    .map(
      ({ destinationId, state, rejectedStatus }) =>
        `${plain(destinationId)} (${stateShown(state, rejectedStatus)})`,
    )
    .join(', ')
}

type Showing = { out: Pick<Output, 'line' | 'styled'>; console: string; now: number }

function show(
  { severity, code, message, action, since, page, runbook }: SystemProblem,
  showing: Showing,
): void {
  const { out, console, now } = showing
  const age = since === null ? '' : ` since ${since} (${ageOf(now - Date.parse(since))})`
  out.line(out.styled(severity === 'error' ? 'red' : 'yellow', `${plain(severity)}: ${plain(code)}${age}`))
  out.line(`    ${plain(message)}`)
  out.line(`    ${plain(action)}`)
  out.line(`    See ${page === null ? '' : `${console}${plain(page)} and `}${plain(runbook)}`)
}

function ageOf(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`
}
