import { z } from 'zod'
import { pages } from '../../api/client.ts'
import type { ExitCode } from '../../context.ts'
import { plain, table } from '../../table.ts'
import { action, type Cli, filterOf, type Invocation, positiveInteger, print } from '../command.ts'

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
type Item = z.infer<typeof item>
const first = z.object({ oldest: z.string().nullable() })

export const ATTEMPT_HEADS = ['webhook', 'attempt', 'outcome', 'status', 'code', 'ms'] as const
const CELLS = ['urlIndex', 'attempt', 'outcome', 'status', 'code', 'durationMs'] as const

export const attemptCells = (attempt: Pick<Item, (typeof CELLS)[number]>) =>
  CELLS.map((name) => attempt[name])

export function addAttempts({ program, ...cli }: Cli): void {
  program
    .command('attempts')
    .summary('list recent attempts and their outcomes')
    .description(
      'Prints the newest attempts (POSTs to webhooks) and their outcomes. Control holds about the last 10,000.',
    )
    .option('--destination <id>', 'only to this destination')
    .option('--source <id>', 'only of this source')
    .option('--outcome <outcome>', 'delivered, rejected, retry, refused, cancelled or deferred')
    .option('--message <id>', 'only with this messageId')
    .option('--delivery <id>', 'only with this X-Delivery-Id')
    .option('--since <time>', 'started since: 15m (ago), or 2026-01-02T03:04:05Z')
    .option('--until <time>', 'started before')
    .option('--limit <count>', 'how many at most', positiveInteger, 50)
    .option('--json', "print one JSON document, with the receivers' responses")
    .addHelpText(
      'after',
      `
Examples:
  $ sluice attempts --destination crm --outcome retry --since 15m
  $ sluice attempts --message 7c2e... --json | jq '.items[].response'`,
    )
    .action(action<Options>(cli, act))
}

async function act(invocation: Invocation<Options>): Promise<ExitCode> {
  const { options, control, now } = invocation
  const found = await pages(await control(), 'attempts', {
    item,
    first,
    query: { ...filterOf(options, now()), outcome: options.outcome },
    limit: options.limit,
    perPage: 1_000,
  })
  const { items } = found
  const { oldest } = found.first
  const heads = ['started', 'destination', ...ATTEMPT_HEADS, 'message']
  const rows = items.map((each) => [
    each.startedAt,
    each.destinationId,
    ...attemptCells(each),
    each.messageId,
  ])
  const none = `No such attempt. The oldest attempt that control holds started at ${plain(oldest)}.`
  return print(invocation, { items, oldest }, items.length > 0 ? table(heads, rows) : [none])
}
