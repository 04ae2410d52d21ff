import { z } from 'zod'
import { pagesOf } from '../../api/client.ts'
import { CliError, type ExitCode } from '../../context.ts'
import { plain, table } from '../../table.ts'
import { action, type Cli, filterOf, type Invocation, positiveInteger } from '../command.ts'

type Options = {
  messageId?: string
  user?: string
  anonymous?: string
  delivery?: string
  event?: string
  source?: string
  destination?: string
  since?: string
  until?: string
  limit: number
  cursor?: string
  json?: true
}

const text = z.string().nullable()
const deliveryShape = z.looseObject({
  destinationId: z.string(),
  deliveryId: z.string(),
  reason: text,
  // missing before server 0.2
  condition: text.optional(),
  state: text,
  attempts: z.array(
    z.looseObject({
      attempt: z.number(),
      startedAt: text,
      outcome: z.string(),
      status: z.number().nullable(),
      code: text,
      response: text.optional(),
    }),
  ),
  nextAttemptAt: text,
  // `code` is missing before server 0.2
  dead: z.looseObject({ reason: z.string(), code: text.optional() }).nullable(),
})
const itemShape = z.looseObject({
  messageId: text,
  sourceId: z.string(),
  type: text,
  userId: text,
  anonymousId: text,
  event: text,
  name: text,
  receivedAt: text,
  rejected: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
  destinations: z.array(deliveryShape),
})
const pageShape = z.looseObject({
  items: z.array(itemShape),
  next: text,
  searchedSince: text,
  faults: z.array(z.looseObject({ at: text, topic: z.string(), cause: z.string(), lost: z.number() })),
})

type Item = z.infer<typeof itemShape>
type Delivery = z.infer<typeof deliveryShape>
type Page = z.infer<typeof pageShape>

export function addEvents({ program, ...cli }: Cli): void {
  const events = program
    .command('events')
    .summary('find out what happened to an event')
    .description('Finds calls in Kafka, and shows what happened to them.')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice events find order-1042
  $ sluice events find --user u1 --source shop --since 2h`,
    )
  events
    .command('find')
    .summary('find calls and the state of their deliveries')
    .description(
      `Finds accepted and rejected calls, newest first. For each call it lists the destinations, with the state of the delivery, the \
number of attempts, the last result and its time, and the time of the next attempt. If a delivery has not succeeded, it also \
prints the receiver's last answer. The search goes back from now, until it has found as many calls as --limit says, or until it \
reaches the oldest stored calls (7 days). With --message-id or --delivery it stops at the first hit. A search for a user is \
faster with --source.`,
    )
    .argument('[message-id]', 'the same as --message-id')
    .option('--message, --message-id <id>', 'the messageId of the call')
    .option('--user <id>', 'the userId of the call')
    .option('--anonymous <id>', 'the anonymousId of the call')
    .option('--event <name>', 'the name of a track event, page or screen')
    .option('--delivery <id>', 'the X-Delivery-Id of a POST')
    .option('--source <id>', 'only calls of this source')
    .option('--destination <id>', 'only deliveries to this destination')
    .option('--since <time>', 'received since: 2h (ago), or 2026-01-02T03:04:05Z')
    .option('--until <time>', 'received before')
    .option('--limit <count>', 'how many at most', positiveInteger, 20)
    .option('--cursor <cursor>', 'continue an earlier search')
    .option('--json', 'print one JSON document, with the calls and all attempts')
    .addHelpText(
      'after',
      `
States: waiting (not attempted yet), retrying, deferred (waits without an attempt), delivered, rejected (the receiver answered \
3xx or 4xx), dead, cancelled, unknown (no attempt is known, and the call is older than the stored attempts, or than the \
destination's settings), not routed. docs/reference/codes.md lists the reasons.

Examples:
  $ sluice events find --message-id order-1042
  $ sluice events find --user u1 --source shop --since 2h
  $ sluice events find --source shop --since 10m --limit 100
  $ sluice events find --user u1 --json | jq '.items[].destinations[].state'`,
    )
    .action(action<Options>(cli, find))
}

const PER_PAGE = 100

async function find({ args, options, control, out, err, now }: Invocation<Options>): Promise<ExitCode> {
  const query = queryOf(withMessageId(options, args[0]), now())
  const api = await control()
  const items: Item[] = []
  let page: Page | undefined
  const { limit, cursor } = options
  const asked = { path: 'events', query, limit, cursor, perPage: PER_PAGE }
  // a page covers a few seconds of search, and may be empty
  for await (page of pagesOf(api, asked, pageShape)) {
    items.push(...page.items)
    if (!options.json) for (const item of page.items) for (const line of shown(item)) out.line(line)
    const isOver = page.next === null || items.length >= limit
    const isFound = items.length > 0 && (query.messageId ?? query.deliveryId) !== undefined
    if (isOver || isFound || out.closed.aborted) break
    err.line(`Searched back to ${plain(page.searchedSince)}, continuing.`)
  }
  const { next = null, searchedSince = null, faults = [] } = page ?? {}
  if (options.json) out.line(JSON.stringify({ items, next, searchedSince, faults }))
  else for (const line of ending({ items, next, searchedSince, faults })) out.line(line)
  return 0
}

/** @throws CliError usage */
function withMessageId(options: Options, messageId: string | undefined): Options {
  if (messageId === undefined) return options
  if (options.messageId !== undefined) throw new CliError('usage', 'Give the message ID once.')
  return { ...options, messageId }
}

/** @throws CliError usage */
function queryOf(options: Options, now: number) {
  const { messageId, user, anonymous, delivery, event } = options
  const { since, until } = options
  if ([messageId, user, anonymous, delivery, event, since, until].every((each) => each === undefined))
    throw new CliError(
      'usage',
      'Say what to find: --message-id, --user, --anonymous, --event, --delivery, --since or --until.',
    )
  return { ...filterOf(options, now), messageId, userId: user, anonymousId: anonymous, event }
}

function shown(item: Item): string[] {
  const { receivedAt, type, event, name, userId, anonymousId, sourceId, messageId, rejected } = item
  const words = [receivedAt, type ?? 'call', event ?? name, `user ${plain(userId ?? anonymousId)}`]
  const more = [`source ${plain(sourceId)}`, `message ${plain(messageId)}`]
  const head = [...words.filter((word) => word !== null), ...more].map(plain).join('  ')
  if (rejected) return [head, `  rejected: ${plain(rejected.message)} (${plain(rejected.code)})`, '']
  const lines = table(
    ['destination', 'state', 'attempts', 'last', 'at', 'next attempt', 'delivery'],
    item.destinations.map(cells),
  )
  const none = `No destination is connected to source ${plain(sourceId)}.`
  const answers = item.destinations.flatMap(answerOf)
  return [head, ...(lines.length > 0 ? [...lines, ...answers] : [none]).map((line) => `  ${line}`), '']
}

const MAX_ANSWER = 200

function answerOf({ destinationId, state, attempts }: Delivery): string[] {
  const answer = plain(attempts.findLast(({ outcome }) => outcome !== 'deferred')?.response)
  if (state === 'delivered' || answer === '-') return []
  const isLong = answer.length > MAX_ANSWER
  return [`${plain(destinationId)} answered: ${isLong ? `${answer.slice(0, MAX_ANSWER - 1)}…` : answer}`]
}

function cells(delivery: Delivery): unknown[] {
  const { destinationId, deliveryId, attempts, nextAttemptAt } = delivery
  const posts = attempts.filter(({ outcome }) => outcome !== 'deferred' && outcome !== 'cancelled')
  const last = attempts.at(-1)
  const result = last?.code ?? last?.status
  return [
    destinationId,
    stateShown(delivery),
    // control may no longer have earlier posts: the number of a later one counts them
    Math.max(posts.length, ...posts.map(({ attempt }) => attempt)),
    result,
    last?.startedAt,
    nextAttemptAt,
    deliveryId,
  ]
}

/** Open deliveries of such a destination are cancelled when they are due. */
const CANCELS: ReadonlySet<string | null> = new Set(['disabled', 'removed'])
const WAITS: ReadonlySet<string | null> = new Set(['retrying', 'deferred', 'held'])

function stateShown({ state, reason, condition, dead }: Delivery): string {
  if (state === null) return `not routed: ${reason}${condition ? ` by ${condition}` : ''}`
  if (WAITS.has(state) && CANCELS.has(reason)) return `${state} (destination ${reason})`
  if (state !== 'dead' || !dead) return state
  return `dead: ${dead.reason}${dead.code ? ` (${dead.code})` : ''}`
}

function ending({ items, next, searchedSince, faults }: Page): string[] {
  const lines: string[] = []
  if (items.length === 0)
    lines.push(
      next === null
        ? 'No such call. The search does not look into properties, such as an order number: search for the user or the event name instead. Sluice does not store calls that were answered with 401, 403, 413 or 429, or calls of suppressed users, and keeps the others for 7 days.'
        : `No such call since ${plain(searchedSince)}.`,
    )
  else if (next !== null) lines.push(`There may be older calls. Continue with --cursor ${plain(next)}`)
  // losses in `events` matter only if no call was found
  const relevant = faults.filter(({ topic }) => items.length === 0 || topic !== 'events')
  for (const { at, topic, cause, lost } of relevant)
    lines.push(
      `Kafka lost ${lost} ${lost === 1 ? 'record' : 'records'} of ${plain(topic)} (${plain(cause)}, ${plain(at)}).`,
    )
  return lines
}
