import { z } from 'zod'
import { EVENT_TYPES } from '../../settings/settings.ts'
import { asked } from '../api/ask.ts'
import { table } from '../table.ts'
import type { ExitCode } from '../world.ts'
import { type Adding, type Doing, doing } from './command.ts'

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

export function addTest({ program, ...adding }: Adding): void {
  program
    .command('test')
    .argument('<destination>', 'its id')
    .summary('post a sample to a destination now')
    .description(
      `Posts a sample to each URL of a destination now, just as a delivery would, also while it is off. Nothing is kept or tried again.
The exit code is 1 when one of the URLs was not delivered to.`,
    )
    .option('--type <type>', `${EVENT_TYPES.join(', ')} (default: track)`)
    .option('--json', 'as one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice test crm
  $ sluice test crm --type identify --json | jq '.results[].response'`,
    )
    .action(doing<Options>(adding, act))
}

async function act({ args, options, control, out }: Doing<Options>): Promise<ExitCode> {
  const path = `destinations/${encodeURIComponent(args[0] ?? '')}/test`
  const json = options.type === undefined ? {} : { type: options.type }
  const answer = await asked(await control(), { method: 'POST', path, json }, results)
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
