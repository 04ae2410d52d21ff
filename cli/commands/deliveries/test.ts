import { z } from 'zod'
import { parseJson } from '../../../process/parse-json.ts'
import { EVENT_TYPES } from '../../../settings/settings.ts'
import { request } from '../../api/client.ts'
import { CliError, type ExitCode } from '../../context.ts'
import { readFiles } from '../../settings/files.ts'
import { plain, table } from '../../table.ts'
import { action, type Cli, type Invocation, print } from '../command.ts'

type Options = { type?: string; call?: string; json?: true }

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
  rules: z
    .looseObject({ outcome: z.string(), condition: z.string().nullable(), message: z.string().nullable() })
    .nullish(),
})

export function addTest({ program, ...cli }: Cli): void {
  program
    .command('test')
    .argument('<destination>', 'id of the destination')
    .summary('send a sample event to a destination now')
    .description(
      `Sends a sample event or a given call to each webhook of a destination, exactly as a delivery does, even if the destination is \
off. Its rules redact and shape the event; filter and sample do not apply. Nothing is stored or retried. With --json, it also prints the headers and the body that were sent, and the headers of \
the answer. The exit code is 1 if any webhook did not accept it.`,
    )
    .option('--type <type>', `${EVENT_TYPES.join(', ')} (default: track)`)
    .option('--call <file>', 'send the call in this JSON file instead of a sample; - reads standard input')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice test crm
  $ sluice test crm --type identify --json | jq '.results[].response'
  $ echo '{"type": "track", "userId": "u1", "event": "Paid"}' | sluice test crm --call -`,
    )
    .action(action<Options>(cli, act))
}

async function act(invocation: Invocation<Options>): Promise<ExitCode> {
  const { args, options, control, err } = invocation
  const path = `destinations/${encodeURIComponent(args[0] ?? '')}/test`
  const json = {
    ...(options.type !== undefined && { type: options.type }),
    ...(options.call !== undefined && { call: await callOf(options.call, invocation) }),
  }
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
  const { rules } = answer
  print(invocation, answer, table(heads, rows))
  if (rules && rules.outcome !== 'sent') err.line(plain(aboutRules(rules)))
  const isSent = rules?.outcome !== 'failed'
  return isSent && answer.results.every(({ outcome }) => outcome === 'delivered') ? 0 : 1
}

function aboutRules({ outcome, condition, message }: NonNullable<z.infer<typeof results>['rules']>): string {
  if (outcome === 'failed') return `Not sent: ${message}.`
  const why =
    outcome === 'filtered'
      ? `filter out a real event like this (${condition})`
      : 'leave a real event like this out of the sample'
  return `The test was sent, but the rules of the destination ${why}.`
}

/** @throws CliError cannot_read, usage */
async function callOf(path: string, invocation: Invocation<Options>): Promise<unknown> {
  const [file] = await readFiles([path], invocation)
  try {
    return parseJson(file?.text ?? '')
  } catch (cause) {
    throw new CliError('usage', `${file?.name} is not JSON: ${(cause as Error).message}`, { cause })
  }
}
