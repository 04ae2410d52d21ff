import { readStatus, type SystemProblem } from '../../api/status.ts'
import type { ExitCode, Output } from '../../context.ts'
import { plain } from '../../table.ts'
import { action, type Cli, type Invocation } from '../command.ts'

type Options = { json?: true }

export function addStatus({ program, ...cli }: Cli): void {
  program
    .command('status')
    .summary('show whether anything is wrong')
    .description(
      `Shows whether anything is wrong with the system right now: what, since when, and what to do. It covers consumer groups that \
have stopped or make no progress, Kafka, its disk space and topics, lost records, and settings that cannot be read. A group in \
trouble shows after 20 to 30 s (longer if RESPONSE_TIMEOUT is above 10 s). For webhooks in trouble, see sluice health.

The exit code is 0 if nothing is wrong, 2 if something is, and 1 on an error, such as no answer from control.`,
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
  const answer = await readStatus(await control())
  const { state, problems } = answer
  if (options.json) out.line(JSON.stringify(answer))
  else if (state === 'ok') out.line(out.styled('green', 'OK: nothing is wrong.'))
  else {
    const { control: console } = await target()
    for (const problem of problems) show(problem, { out, console, now: now() })
  }
  return state === 'ok' ? 0 : 2
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

/** "45 s", "12 min", "3 h", "2 days". */
function ageOf(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`
}
