import { z } from 'zod'
import { pages } from '../../api/client.ts'
import type { ExitCode } from '../../context.ts'
import { plain, table } from '../../table.ts'
import { action, type Cli, filterOf, type Invocation, positiveInteger, print } from '../command.ts'

type Options = {
  destination?: string
  reason?: string
  message?: string
  delivery?: string
  event?: string
  user?: string
  status?: string
  replayed?: boolean
  since?: string
  until?: string
  limit: number
  body?: true
  json?: true
}

const item = z.looseObject({
  deliveryId: z.string(),
  messageId: z.string(),
  destinationId: z.string(),
  event: z.string().nullable(),
  user: z.string().nullable(),
  reason: z.string(),
  // missing before server 0.2
  code: z.string().nullable().optional(),
  deadAt: z.string().nullable(),
  attempts: z.array(z.looseObject({ status: z.number().nullable(), code: z.string().nullable() })),
  body: z.string().nullable(),
})
const first = z.object({
  counts: z.array(z.object({ destinationId: z.string(), reason: z.string(), count: z.number() })),
  matching: z.array(z.object({ destinationId: z.string(), count: z.number() })),
  partial: z.boolean(),
  oldest: z.string().nullable(),
})

export function addDead({ program, ...cli }: Cli): void {
  program
    .command('dead')
    .summary('list dead letters and their reasons')
    .description(
      'Prints how many deliveries of each destination are dead, by reason, and lists the newest dead letters.',
    )
    .option('--destination <id>', 'only of this destination')
    .option('--reason <reason>', 'window_expired, attempts_exhausted, rejected, refused or rules_failed')
    .option('--message <id>', 'only with this messageId')
    .option('--delivery <id>', 'only with this X-Delivery-Id')
    .option('--event <name>', 'only of events with this name')
    .option('--user <id>', 'only of this user (userId, or anonymousId of events without one)')
    .option('--status <status>', 'only with an attempt that got this HTTP status (404) or class (5xx)')
    .option('--replayed', 'only those that a replay has sent since')
    .option('--no-replayed', 'only those that no replay has sent since')
    .option('--since <time>', 'dead since: 2h (ago), or 2026-01-02T03:04:05Z')
    .option('--until <time>', 'dead before')
    .option('--limit <count>', 'how many at most', positiveInteger, 50)
    .option('--body', 'also print bodies, which contain user data')
    .option('--json', 'print one JSON document, with bodies and attempts')
    .addHelpText(
      'after',
      `
The counts cover all dead letters that control holds. --destination and --reason narrow them; --since, --until and the other \
filters do not. With --json they always cover all destinations and reasons, and "matching" counts what the filter selects.

Examples:
  $ sluice dead --destination crm --no-replayed
  $ sluice dead --destination crm --since 24h
  $ sluice dead --reason refused --body
  $ sluice dead --limit 1000 --json | jq -r '.items[].messageId'`,
    )
    .action(action<Options>(cli, act))
}

async function act(invocation: Invocation<Options>): Promise<ExitCode> {
  const { options, control, now } = invocation
  const query = {
    ...filterOf(options, now()),
    reason: options.reason,
    event: options.event,
    user: options.user,
    status: options.status,
    replayed: options.replayed === undefined ? undefined : String(options.replayed),
  }
  const { limit } = options
  const found = await pages(await control(), 'dead', { item, first, query, limit, perPage: 100 })
  const { items } = found
  const { counts, matching, partial, oldest } = found.first
  const shown = counts.filter(
    ({ destinationId, reason }) =>
      destinationId === (options.destination ?? destinationId) && reason === (options.reason ?? reason),
  )
  const rows = shown.map((each) => [each.destinationId, each.reason, each.count])
  const lines = [
    ...(shown.length > 0 ? table(['destination', 'reason', 'dead'], rows) : ['No dead letters.']),
    ...(partial ? [`Dead letters older than ${plain(oldest)} are not counted.`] : []),
    ...(items.length > 0 ? ['', ...letters(items, options.body ?? false)] : []),
  ]
  return print(invocation, { counts, matching, partial, oldest, items }, lines)
}

function letters(items: readonly z.infer<typeof item>[], withBody: boolean): string[] {
  const heads = [
    'dead since',
    'destination',
    'event',
    'user',
    'reason',
    'attempts',
    'last',
    'message',
    'delivery',
  ]
  const rows = items.map(({ attempts, messageId, deliveryId, ...each }) => {
    const last = attempts.at(-1)
    const subject = [each.deadAt, each.destinationId, each.event, each.user, each.reason]
    return [...subject, attempts.length, last?.code ?? last?.status ?? each.code, messageId, deliveryId]
  })
  const [head = '', ...lines] = table(heads, rows)
  if (!withBody) return [head, ...lines]
  return [head, ...lines.flatMap((line, index) => [line, `    ${plain(items[index]?.body)}`])]
}
