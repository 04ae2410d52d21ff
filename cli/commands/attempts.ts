import { z } from 'zod'
import { pages, plain, table, timeOf, wholeNumber } from '../table.ts'
import type { ExitCode } from '../world.ts'
import { type Adding, type Doing, doing } from './command.ts'

type Options = {
  destination?: string
  source?: string
  outcome?: string
  message?: string
  delivery?: string
  since?: string
  until?: string
  limit: number
  json?: true
}

const item = z.looseObject({
  startedAt: z.string().nullable(),
  destinationId: z.string(),
  messageId: z.string(),
  attempt: z.number(),
  urlIndex: z.number().nullable(),
  outcome: z.string(),
  status: z.number().nullable(),
  code: z.string().nullable(),
  durationMs: z.number(),
})
const first = z.object({ oldest: z.string().nullable() })

export function addAttempts({ program, ...adding }: Adding): void {
  program
    .command('attempts')
    .summary('POSTs of late, and what came of them')
    .description(
      'Prints the newest POSTs to webhooks, and what came of each. Control holds the last 10,000 or so.',
    )
    .option('--destination <id>', 'to this destination')
    .option('--source <id>', 'of this source')
    .option('--outcome <outcome>', 'delivered, rejected, retry, refused, cancelled or deferred')
    .option('--message <id>', 'with this messageId')
    .option('--delivery <id>', 'with this X-Delivery-Id')
    .option('--since <time>', 'begun since: 15m (ago), or 2026-01-02T03:04:05Z')
    .option('--until <time>', 'begun before')
    .option('--limit <count>', 'at most so many', wholeNumber, 50)
    .option('--json', 'as one JSON document, with the answers of receivers')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice attempts --destination crm --outcome retry --since 15m
  $ sluice attempts --message 7c2e... --json | jq '.items[].response'`,
    )
    .action(doing<Options>(adding, act))
}

async function act({ options, control, out, now }: Doing<Options>): Promise<ExitCode> {
  const query = {
    destinationId: options.destination,
    sourceId: options.source,
    outcome: options.outcome,
    messageId: options.message,
    deliveryId: options.delivery,
    since: timeOf(options.since, now()),
    until: timeOf(options.until, now()),
  }
  const found = await pages(await control(), 'attempts', {
    item,
    first,
    query,
    limit: options.limit,
    most: 1_000,
  })
  const { items } = found
  const { oldest } = found.first
  if (options.json) {
    out.line(JSON.stringify({ items, oldest }))
    return 0
  }
  const heads = ['begun', 'destination', 'URL', 'attempt', 'outcome', 'status', 'code', 'ms', 'message']
  const rows = items.map((each) => [
    each.startedAt,
    each.destinationId,
    each.urlIndex,
    each.attempt,
    each.outcome,
    each.status,
    each.code,
    each.durationMs,
    each.messageId,
  ])
  for (const line of table(heads, rows)) out.line(line)
  if (items.length === 0) out.line(`No such attempt; the oldest that is known began ${plain(oldest)}.`)
  return 0
}
