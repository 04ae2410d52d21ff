import got from 'got'
import { z } from 'zod'
import { isObject } from '../../../process/json-objects.ts'
import { parseJson } from '../../../process/parse-json.ts'
import { printable } from '../../../process/printable.ts'
import { CALL_TYPES, type CallType } from '../../../settings/settings.ts'
import { request, unreachable } from '../../api/client.ts'
import { CliError, type ExitCode } from '../../context.ts'
import { addressOf } from '../../target.ts'
import { action, type Cli, type Invocation, timeOf } from '../command.ts'

type Options = CallOptions & { writeKey?: string; source?: string; ingestUrl?: string; json?: true }

export function addSend({ program, ...cli }: Cli): void {
  program
    .command('send')
    .argument('<type>', CALL_TYPES.join(', '))
    .summary('send one call, as a client does')
    .description(
      'Sends one call to ingest and prints the response. The exit code is 1 if the call is not accepted.',
    )
    .option('--write-key <key>', "the source's write key (SLUICE_WRITE_KEY)")
    .option('--source <id>', 'id of the source; its write key is looked up with the admin token')
    .option('--ingest-url <url>', 'address of ingest (SLUICE_INGEST_URL)')
    .option('--user <id>', 'userId')
    .option('--anonymous <id>', 'anonymousId')
    .option('--event <name>', "a track's event")
    .option('--name <name>', "a page's or screen's name")
    .option('--category <name>', "a page's category")
    .option('--group <id>', 'groupId')
    .option('--previous <id>', "an alias's previousId")
    .option('--properties <json>', 'JSON object')
    .option('--traits <json>', 'JSON object')
    .option('--context <json>', 'JSON object')
    .option('--message-id <id>', 'messageId (default: a new one)')
    .option('--timestamp <time>', 'when it happened: 2h (ago), or 2026-01-02T03:04:05Z')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice send track --source shop --user u1 --event 'Signed Up' --properties '{"plan": "pro"}'
  $ sluice send identify --write-key shop-write-key --user u1 --traits '{"email": "u1@example.com"}'
  $ sluice attempts --message <printed messageId>`,
    )
    .action(action<Options>(cli, act))
}

async function act(invocation: Invocation<Options>): Promise<ExitCode> {
  const { args, options, out, now, newId } = invocation
  const call = callOf(args[0] ?? '', options, { now: now(), newId })
  const writeKey = await writeKeyOf(invocation)
  const ingest = await ingestOf(invocation)
  const { statusCode, body } = await got
    .post(`${ingest}/v1/${call.type}`, {
      username: writeKey,
      json: call.body,
      throwHttpErrors: false,
      followRedirect: false,
      retry: { limit: 0 },
      timeout: { request: 30_000 },
    })
    .catch((cause: unknown) => {
      throw unreachable(ingest, cause)
    })
  if (statusCode === 404) throw new CliError('no_address', notIngest(ingest))
  const { messageId } = call.body
  out.line(
    options.json
      ? JSON.stringify({ status: statusCode, body, messageId })
      : `${statusCode} ${printable(body.trim())}  messageId ${messageId}`,
  )
  return statusCode === 200 ? 0 : 1
}

const notIngest = (url: string) =>
  `${url} is not the address of ingest: it has no /v1. Set SLUICE_INGEST_URL (or --ingest-url), by default on port 8080.`

async function writeKeyOf({ options, env, control }: Invocation<Options>): Promise<string> {
  const given = options.writeKey ?? (options.source === undefined ? env.SLUICE_WRITE_KEY : undefined)
  if (given) return given
  if (options.source === undefined)
    throw new CliError('usage', 'No source: set --source, or --write-key (SLUICE_WRITE_KEY).')
  const shape = z.looseObject({ writeKey: z.string() })
  const path = `sources/${encodeURIComponent(options.source)}`
  const { writeKey } = await request(await control(), { path }, shape)
  if (writeKey !== '***') return writeKey
  throw new CliError('no_token', 'This token is read-only and cannot see write keys: use --write-key.')
}

/** An explicit address works without control. */
async function ingestOf({ options, env, target }: Invocation<Options>): Promise<string> {
  const given = options.ingestUrl ?? (env.SLUICE_INGEST_URL || undefined)
  const ingest = given ? addressOf(given) : (await target()).ingest
  if (ingest) return ingest
  throw new CliError(
    'no_address',
    "No address of ingest: set SLUICE_INGEST_URL or --ingest-url. It differs from control's address.",
  )
}

export type CallOptions = {
  user?: string
  anonymous?: string
  event?: string
  name?: string
  category?: string
  group?: string
  previous?: string
  properties?: string
  traits?: string
  context?: string
  messageId?: string
  timestamp?: string
}

export type Call = { type: CallType; body: Record<string, unknown> & { messageId: string } }

/** Leaves validation to ingest. `now`: milliseconds since 1970. @throws CliError usage */
export function callOf(
  text: string,
  options: CallOptions,
  { now, newId }: { now: number; newId: () => string },
): Call {
  const type = CALL_TYPES.find((each) => each === text)
  if (!type)
    throw new CliError('usage', `"${text}" is not a type of call: use one of ${CALL_TYPES.join(', ')}`)
  const given = {
    userId: options.user,
    anonymousId: options.anonymous,
    event: options.event,
    name: options.name,
    category: options.category,
    groupId: options.group,
    previousId: options.previous,
    properties: objectOf('--properties', options.properties),
    traits: objectOf('--traits', options.traits),
    context: objectOf('--context', options.context),
    timestamp: timeOf(options.timestamp, now),
  }
  const fields = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  return { type, body: { messageId: options.messageId ?? newId(), ...fields } }
}

function objectOf(option: string, text: string | undefined): object | undefined {
  if (text === undefined) return undefined
  try {
    const value = parseJson(text)
    if (isObject(value)) return value
  } catch {}
  throw new CliError('usage', `${option} takes a JSON object such as '{"plan": "pro"}', not ${text}`)
}
