import { z } from 'zod'
import { EVENT_TYPES } from '../../settings/settings.ts'
import { request } from '../api/client.ts'
import type { ExitCode } from '../context.ts'
import { table } from '../table.ts'
import { action, type Cli, type Invocation } from './command.ts'

type Options = { type?: string; json?: true }

const results = z.object({
  results: z.array(
    z.looseObject({
      url: z.string(),
      outcome: z.string(),
      status: z.number().nullable(),
      durationMs: z.number(),
      code: z.string().nullable(),
      response: z.string().nullable(),
    }),
  ),
})

export function addTest({ program, ...cli }: Cli): void {
  program
    .command('test')
    .argument('<destination>', 'id of the destination')
    .summary('send a sample event to a destination now')
    .description(
      `Sends a sample event to each webhook of a destination, exactly as a delivery does, even if the destination is off. Nothing is \
stored or retried. The exit code is 1 if any webhook did not accept it.`,
    )
    .option('--type <type>', `${EVENT_TYPES.join(', ')} (default: track)`)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice test crm
  $ sluice test crm --type identify --json | jq '.results[].response'`,
    )
    .action(action<Options>(cli, act))
}

async function act({ args, options, control, out }: Invocation<Options>): Promise<ExitCode> {
  const path = `destinations/${encodeURIComponent(args[0] ?? '')}/test`
  const json = options.type === undefined ? {} : { type: options.type }
  const answer = await request(await control(), { method: 'POST', path, json }, results)
  const heads = ['URL', 'outcome', 'status', 'code', 'ms', 'response']
  const rows = answer.results.map(({ url, outcome, status, code, durationMs, response }) => [
    url,
    outcome,
    status,
    code,
    durationMs,
    response,
  ])
  for (const line of options.json ? [JSON.stringify(answer)] : table(heads, rows)) out.line(line)
  return answer.results.every(({ outcome }) => outcome === 'delivered') ? 0 : 1
}
