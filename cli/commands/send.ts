import got from 'got'
import { z } from 'zod'
import { asked, unreachable } from '../api/ask.ts'
import { timeOf } from '../table.ts'
import { CliFault, type ExitCode } from '../world.ts'
import { type Adding, type Doing, doing } from './command.ts'

type Options = CallOptions & { writeKey?: string; source?: string; ingestUrl?: string; json?: true }

export function addSend({ program, ...adding }: Adding): void {
  program
    .command('send')
    .argument('<type>', TYPES.join(', '))
    .summary('send one call, as a client would')
    .description(
      'Sends one call to ingest, and prints what that answers. The exit code is 1 when the call is not accepted.',
    )
    .option('--write-key <key>', "the source's write key (SLUICE_WRITE_KEY)")
    .option('--source <id>', 'the source: its write key is looked up with the admin token')
    .option('--ingest-url <url>', 'address of ingest (SLUICE_INGEST_URL)')
    .option('--user <id>', 'userId')
    .option('--anonymous <id>', 'anonymousId')
    .option('--event <name>', "a track's event")
    .option('--name <name>', "a page's or screen's name")
    .option('--category <name>', "a page's category")
    .option('--group <id>', 'groupId')
    .option('--previous <id>', "an alias's previousId")
    .option('--properties <json>', 'an object')
    .option('--traits <json>', 'an object')
    .option('--context <json>', 'an object')
    .option('--message-id <id>', 'messageId (default: a new one)')
    .option('--timestamp <time>', 'when it happened: 2h (ago), or 2026-01-02T03:04:05Z')
    .option('--json', 'as one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice send track --source shop --user u1 --event 'Signed Up' --properties '{"plan": "pro"}'
  $ sluice send identify --write-key shop-write-key --user u1 --traits '{"email": "u1@example.com"}'
  $ sluice attempts --message <the messageId that was printed>`,
    )
    .action(doing<Options>(adding, act))
}

async function act(given: Doing<Options>): Promise<ExitCode> {
  const { args, options, out, now, newId } = given
  const call = callOf(args[0] ?? '', options, { now: now(), newId })
  const writeKey = await writeKeyOf(given)
  const ingest = await ingestOf(given)
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
  const { messageId } = call.body
  out.line(
    options.json
      ? JSON.stringify({ status: statusCode, body, messageId })
      : `${statusCode} ${body.trim()}  messageId ${messageId}`,
  )
  return statusCode === 200 ? 0 : 1
}

async function writeKeyOf({ options, env, control }: Doing<Options>): Promise<string> {
  const given = options.writeKey ?? (options.source === undefined ? env.SLUICE_WRITE_KEY : undefined)
  if (given) return given
  if (options.source === undefined)
    throw new CliFault('usage', 'Whose call is it? Give --source, or --write-key (SLUICE_WRITE_KEY).')
  const shape = z.looseObject({ writeKey: z.string() })
  const path = `sources/${encodeURIComponent(options.source)}`
  const { writeKey } = await asked(await control(), { path }, shape)
  if (writeKey !== '***') return writeKey
  throw new CliFault('no_token', 'This token may only read, and does not see write keys: give --write-key.')
}

/** With an address of its own nothing need be known of control. */
async function ingestOf({ options, env, target }: Doing<Options>): Promise<string> {
  const given = options.ingestUrl ?? (env.SLUICE_INGEST_URL || undefined)
  const ingest = given?.replace(/\/+$/, '') ?? (await target()).ingest
  if (ingest) return ingest
  throw new CliFault(
    'no_address',
    "Where is ingest? Set SLUICE_INGEST_URL or --ingest-url: it is not at control's address.",
  )
}

export const TYPES = ['identify', 'track', 'page', 'screen', 'group', 'alias'] as const

/** As they stand on the command line. */
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

export type Call = { type: (typeof TYPES)[number]; body: Record<string, unknown> & { messageId: string } }

/** The call that options describe; whether it is a valid one ingest says. `now`: milliseconds since 1970. @throws CliFault usage */
export function callOf(text: string, options: CallOptions, by: { now: number; newId: () => string }): Call {
  const type = TYPES.find((each) => each === text)
  if (!type) throw new CliFault('usage', `"${text}" is no type of call: give one of ${TYPES.join(', ')}`)
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
    timestamp: timeOf(options.timestamp, by.now),
  }
  const fields = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  return { type, body: { messageId: options.messageId ?? by.newId(), ...fields } }
}

function objectOf(option: string, text: string | undefined): object | undefined {
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // told below
  }
  throw new CliFault('usage', `${option} takes a JSON object like '{"plan": "pro"}', and not ${text}`)
}
