import { z } from 'zod'
import { pages, plain, table, timeOf, wholeNumber } from '../table.ts'
import type { ExitCode } from '../world.ts'
import { type Adding, type Doing, doing } from './command.ts'

type Options = {
  destination?: string
  reason?: string
  message?: string
  delivery?: string
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
  reason: z.string(),
  deadAt: z.string().nullable(),
  attempts: z.array(z.looseObject({ status: z.number().nullable(), code: z.string().nullable() })),
  body: z.string().nullable(),
})
const first = z.object({
  counts: z.array(z.object({ destinationId: z.string(), reason: z.string(), count: z.number() })),
  partial: z.boolean(),
  oldest: z.string().nullable(),
})

export function addDead({ program, ...adding }: Adding): void {
  program
    .command('dead')
    .summary('deliveries that were given up, and why')
    .description(
      'Prints how many deliveries of each destination were given up for which reason, and the newest ones.',
    )
    .option('--destination <id>', 'of this destination')
    .option('--reason <reason>', 'window_expired, attempts_exhausted, rejected or refused')
    .option('--message <id>', 'with this messageId')
    .option('--delivery <id>', 'with this X-Delivery-Id')
    .option('--since <time>', 'given up since: 2h (ago), or 2026-01-02T03:04:05Z')
    .option('--until <time>', 'given up before')
    .option('--limit <count>', 'at most so many', wholeNumber, 50)
    .option('--body', 'with the body of each, which is user data')
    .option('--json', 'as one JSON document, bodies and attempts included')
    .addHelpText(
      'after',
      `
The counts are of all dead letters that are held, at any time; with --destination or --reason, only of that.
With --json they are of all destinations and reasons.

Examples:
  $ sluice dead --destination crm --since 24h
  $ sluice dead --reason refused --body
  $ sluice dead --limit 1000 --json | jq -r '.items[].messageId'`,
    )
    .action(doing<Options>(adding, act))
}

async function act({ options, control, out, now }: Doing<Options>): Promise<ExitCode> {
  const query = {
    destinationId: options.destination,
    reason: options.reason,
    messageId: options.message,
    deliveryId: options.delivery,
    since: timeOf(options.since, now()),
    until: timeOf(options.until, now()),
  }
  const found = await pages(await control(), 'dead', { item, first, query, limit: options.limit, most: 100 })
  const { items } = found
  const { counts, partial, oldest } = found.first
  if (options.json) {
    out.line(JSON.stringify({ counts, partial, oldest, items }))
    return 0
  }
  const shown = counts.filter(
    ({ destinationId, reason }) =>
      destinationId === (options.destination ?? destinationId) && reason === (options.reason ?? reason),
  )
  if (shown.length === 0) out.line('Nothing has been given up.')
  for (const line of table(
    ['destination', 'reason', 'given up'],
    shown.map((each) => [each.destinationId, each.reason, each.count]),
  ))
    out.line(line)
  if (partial) out.line(`There are older ones than those of ${plain(oldest)}, which are not counted.`)
  if (items.length > 0) out.line('')
  show(items, { out, withBody: options.body ?? false })
  return 0
}

function show(
  items: readonly z.infer<typeof item>[],
  { out, withBody }: Pick<Doing<Options>, 'out'> & { withBody: boolean },
): void {
  const heads = ['given up', 'destination', 'reason', 'POSTs', 'last', 'message', 'delivery']
  const rows = items.map(({ deadAt, destinationId, reason, attempts, messageId, deliveryId }) => {
    const last = attempts.at(-1)
    return [deadAt, destinationId, reason, attempts.length, last?.code ?? last?.status, messageId, deliveryId]
  })
  const [head, ...lines] = table(heads, rows)
  if (head) out.line(head)
  lines.forEach((line, index) => {
    out.line(line)
    if (withBody) out.line(`    ${plain(items[index]?.body)}`)
  })
}
