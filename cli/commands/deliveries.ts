import { z } from 'zod'
import { type Api, request } from '../api/client.ts'
import type { ExitCode } from '../context.ts'
import { plain, table } from '../table.ts'
import { action, type Cli, type Invocation, positiveInteger, timeOf } from './command.ts'

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
    .option('--state <state>', 'waiting, delivered, rejected, retrying, deferred, dead, cancelled or unknown')
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

async function list({ options, control, out, now }: Invocation<Options>): Promise<ExitCode> {
  const query = {
    destinationId: options.destination,
    sourceId: options.source,
    state: options.state,
    status: options.status,
    event: options.event,
    user: options.user,
    messageId: options.message,
    deliveryId: options.delivery,
    since: timeOf(options.since, now()),
    until: timeOf(options.until, now()),
  }
  const { items, next, searchedSince, unknown } = await search(await control(), query, options)
  if (options.json) {
    out.line(JSON.stringify({ items, next, searchedSince, unknown }))
    return 0
  }
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
  for (const line of table(heads, rows)) out.line(line)
  if (items.length === 0) out.line('No such delivery.')
  if (unknown > 0)
    out.line(`Left out ${unknown} whose attempts are not known. To list them, use --state unknown.`)
  if (next !== null) out.line(`Searched back to ${plain(searchedSince)}. Continue with --cursor ${next}`)
  return 0
}

async function search(
  api: Api,
  query: Record<string, string | undefined>,
  { limit, ...options }: Pick<Options, 'limit' | 'cursor'>,
): Promise<z.infer<typeof page>> {
  const items: z.infer<typeof item>[] = []
  let [cursor, unknown] = [options.cursor, 0]
  for (let requests = 1; ; requests++) {
    const path = 'deliveries'
    const pageQuery = { ...query, limit: Math.min(100, limit - items.length), cursor }
    const found = await request(api, { path, query: pageQuery }, page)
    items.push(...found.items)
    unknown += found.unknown
    cursor = found.next ?? undefined
    if (cursor === undefined || items.length >= limit || requests >= MAX_REQUESTS)
      return { ...found, items, unknown }
  }
}

async function show({ args, options, control, out }: Invocation<Options>): Promise<ExitCode> {
  const path = `deliveries/${encodeURIComponent(args[0] ?? '')}`
  const found = await request(await control(), { path }, details)
  if (options.json) {
    out.line(JSON.stringify(found))
    return 0
  }
  const { destinationId, event, type, user, state, nextAttemptAt, deliveryId, messageId } = found
  out.line(`${plain(event ?? type)} of ${plain(user)} to ${destinationId}: ${state}`)
  if (nextAttemptAt !== null) out.line(`Next attempt at ${nextAttemptAt}.`)
  out.line(`X-Delivery-Id ${deliveryId}, message ${plain(messageId)}`)
  const heads = ['started', 'webhook', 'attempt', 'outcome', 'status', 'code', 'ms', 'response']
  const rows = found.attempts.map((each) => [
    each.startedAt,
    each.urlIndex,
    each.attempt,
    each.outcome,
    each.status,
    each.code,
    each.durationMs,
    each.response,
  ])
  if (rows.length > 0) out.line('')
  for (const line of table(heads, rows)) out.line(line)
  for (const { url, headers } of found.requests) {
    out.line('')
    out.line(`POST ${plain(url)}`)
    for (const [name, value] of Object.entries(headers)) out.line(`${name}: ${plain(value)}`)
  }
  out.line('')
  out.line(plain(found.body))
  return 0
}
