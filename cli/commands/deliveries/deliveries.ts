import { z } from 'zod'
import { type Api, pagesOf, type Query, request } from '../../api/client.ts'
import type { ExitCode } from '../../context.ts'
import { plain, table } from '../../table.ts'
import { action, type Cli, filterOf, type Invocation, positiveInteger, print } from '../command.ts'
import { ATTEMPT_HEADS, attemptCells } from './attempts.ts'

type Options = {
  destination?: string
  source?: string
  state?: string
  status?: string
  event?: string
  user?: string
  message?: string
  delivery?: string
  since?: string
  until?: string
  limit: number
  cursor?: string
  json?: true
}

const item = z.looseObject({
  id: z.string(),
  deliveryId: z.string(),
  messageId: z.string(),
  destinationId: z.string(),
  type: z.string(),
  event: z.string().nullable(),
  user: z.string().nullable(),
  routedAt: z.string().nullable(),
  replay: z.boolean(),
  state: z.string(),
  attemptCount: z.number(),
  lastStatus: z.number().nullable(),
  lastCode: z.string().nullable(),
  nextAttemptAt: z.string().nullable(),
})
const page = z.looseObject({
  items: z.array(item),
  next: z.string().nullable(),
  searchedSince: z.string().nullable(),
  unknown: z.number(),
})
const details = z.looseObject({
  ...item.shape,
  attempts: z.array(
    z.looseObject({
      attempt: z.number(),
      urlIndex: z.number().nullable(),
      startedAt: z.string().nullable(),
      durationMs: z.number(),
      outcome: z.string(),
      status: z.number().nullable(),
      code: z.string().nullable(),
      response: z.string().nullable(),
    }),
  ),
  body: z.string(),
  requests: z.array(z.object({ url: z.string(), headers: z.record(z.string(), z.string()) })),
})

export function addDeliveries({ program, ...cli }: Cli): void {
  program
    .command('deliveries')
    .argument('[id]', 'show this delivery: its request, attempts and next attempt')
    .summary('list deliveries and their states, or show one')
    .description('Lists deliveries of the last three days with their states, newest first, or shows one.')
    .option('--destination <id>', 'only to this destination')
    .option('--source <id>', 'only of this source')
    .option(
      '--state <state>',
      'waiting, delivered, rejected, retrying, deferred, held, dead, cancelled or unknown',
    )
    .option('--status <status>', 'only with an attempt that got this HTTP status (404) or class (5xx)')
    .option('--event <name>', 'only of events with this name')
    .option('--user <id>', 'only of this user (userId, or anonymousId of events without one)')
    .option('--message <id>', 'only with this messageId')
    .option('--delivery <id>', 'only with this X-Delivery-Id')
    .option('--since <time>', 'made since: 15m (ago), or 2026-01-02T03:04:05Z')
    .option('--until <time>', 'made before')
    .option('--limit <count>', 'how many at most', positiveInteger, 50)
    .option('--cursor <cursor>', 'continue an earlier search')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
A search ends after --limit deliveries, or after about half a minute. It then says how far back it got, and prints the
--cursor that continues it.

Examples:
  $ sluice deliveries --destination crm --state rejected --since 24h
  $ sluice deliveries --user u-42 --event "Order Completed"
  $ sluice deliveries d3-1042
  $ sluice deliveries --status 5xx --json | jq -r '.items[].messageId'`,
    )
    .action(
      action<Options>(cli, (invocation) =>
        invocation.args[0] === undefined ? list(invocation) : show(invocation),
      ),
    )
}

/** Each request takes about 3 s. */
const MAX_REQUESTS = 10

async function list(invocation: Invocation<Options>): Promise<ExitCode> {
  const { options, control, now } = invocation
  const query = {
    ...filterOf(options, now()),
    state: options.state,
    status: options.status,
    event: options.event,
    user: options.user,
  }
  const { items, next, searchedSince, unknown } = await search(await control(), query, options)
  const heads = ['made', 'destination', 'event', 'user', 'state', 'attempts', 'last', 'next attempt', 'id']
  const rows = items.map((each) => [
    each.routedAt,
    each.destinationId,
    each.event ?? each.type,
    each.user,
    each.replay ? `${each.state} (replay)` : each.state,
    each.attemptCount,
    each.lastCode ?? each.lastStatus,
    each.nextAttemptAt,
    each.id,
  ])
  const lines = [
    ...(items.length > 0 ? table(heads, rows) : ['No such delivery.']),
    ...(unknown > 0
      ? [`Left out ${unknown} whose attempts are not known. To list them, use --state unknown.`]
      : []),
    ...(next === null ? [] : [`Searched back to ${plain(searchedSince)}. Continue with --cursor ${next}`]),
  ]
  return print(invocation, { items, next, searchedSince, unknown }, lines)
}

async function search(
  api: Api,
  query: Query,
  { limit, cursor }: Pick<Options, 'limit' | 'cursor'>,
): Promise<z.infer<typeof page>> {
  const all: z.infer<typeof page> = { items: [], next: null, searchedSince: null, unknown: 0 }
  let requests = 0
  for await (const found of pagesOf(api, { path: 'deliveries', query, limit, perPage: 100, cursor }, page)) {
    all.items.push(...found.items)
    all.unknown += found.unknown
    all.next = found.next
    all.searchedSince = found.searchedSince
    requests += 1
    if (requests >= MAX_REQUESTS) break
  }
  return all
}

async function show(invocation: Invocation<Options>): Promise<ExitCode> {
  const { args, control } = invocation
  const path = `deliveries/${encodeURIComponent(args[0] ?? '')}`
  const found = await request(await control(), { path }, details)
  return print(invocation, found, described(found))
}

function described(found: z.infer<typeof details>): string[] {
  const { destinationId, event, type, user, state, nextAttemptAt, deliveryId, messageId } = found
  const heads = ['started', ...ATTEMPT_HEADS, 'response']
  const rows = found.attempts.map((each) => [each.startedAt, ...attemptCells(each), each.response])
  return [
    `${plain(event ?? type)} of ${plain(user)} to ${destinationId}: ${state}`,
    ...(nextAttemptAt === null ? [] : [`Next attempt at ${nextAttemptAt}.`]),
    `X-Delivery-Id ${deliveryId}, message ${plain(messageId)}`,
    ...(rows.length > 0 ? ['', ...table(heads, rows)] : []),
    ...found.requests.flatMap(({ url, headers }) => [
      '',
      `POST ${plain(url)}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${plain(value)}`),
    ]),
    '',
    plain(found.body),
  ]
}
