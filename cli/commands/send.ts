import got from 'got'
import { z } from 'zod'
import { unreachable } from '../api/ask.ts'
import { asked } from '../api/refused.ts'
import { type CallOptions, callOf, TYPES } from '../call.ts'
import { CliFault } from '../fault.ts'
import type { ExitCode } from '../world.ts'
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
