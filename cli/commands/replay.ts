import { z } from 'zod'
import { type Asked, asked, askedUnder } from '../api/ask.ts'
import { pages, plain, table, timeOf, wholeNumber } from '../table.ts'
import type { ExitCode } from '../world.ts'
import { type Adding, type Doing, doing } from './command.ts'

type Options = { json?: true }
type ListOptions = Options & { destination?: string; limit: number }
type StartOptions = Options & {
  id?: string
  what?: string
  from?: string
  to?: string
  reason?: string
  perSecond?: number
}

const shape = z.looseObject({
  id: z.string(),
  state: z.string(),
  destinationId: z.string().optional(),
  what: z.string().optional(),
  createdAt: z.string().optional(),
  read: z.number().optional(),
  replayed: z.number().optional(),
  parked: z.number().optional(),
  total: z.number().optional(),
  cause: z.looseObject({ message: z.string() }).optional(),
})

export function addReplay({ program, ...adding }: Adding): void {
  const replay = program
    .command('replay')
    .summary('deliver again what was given up, or what came in')
    .description('Delivers again what was given up, or what came in, to one destination.')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice replay start crm --from 24h --reason attempts_exhausted
  $ sluice replay start crm --what events --from 2026-01-02T00:00:00Z --to 2026-01-02T06:00:00Z
  $ sluice replay list --destination crm
  $ sluice replay show 3f0c...
  $ sluice replay cancel 3f0c...`,
    )
  replay
    .command('start')
    .argument('<destination>', 'its id')
    .description('Begins one, which goes on in the background.')
    .option('--what <what>', 'dead: what was given up; events: all that came in (default: dead)')
    .option('--from <time>', 'since: 2h (ago), or 2026-01-02T03:04:05Z (default: all that is kept)')
    .option('--to <time>', 'before (default: now)')
    .option(
      '--reason <reason>',
      'only dead letters with this reason: window_expired, attempts_exhausted, rejected or refused',
    )
    .option('--per-second <count>', 'deliveries a second at most', wholeNumber)
    .option('--id <id>', 'of the replay (default: a new one); begun under one id twice it is begun once')
    .option('--json', 'as one JSON document')
    .action(doing<StartOptions>(adding, start))
  replay
    .command('list')
    .description('Tells of those of the last 30 days, the newest first.')
    .option('--destination <id>', 'to this destination')
    .option('--limit <count>', 'at most so many', wholeNumber, 50)
    .option('--json', 'as one JSON document')
    .action(doing<ListOptions>(adding, list))
  replay
    .command('show')
    .argument('<id>', 'of the replay')
    .description('Tells how far one is.')
    .option('--json', 'as one JSON document')
    .action(doing<Options>(adding, (given) => tell(given, { path: pathOf(given) })))
  replay
    .command('cancel')
    .argument('<id>', 'of the replay')
    .description('Ends one. What was replayed before stays so.')
    .option('--json', 'as one JSON document')
    .action(doing<Options>(adding, (given) => tell(given, { method: 'DELETE', path: pathOf(given) })))
}

const pathOf = ({ args }: Pick<Doing<Options>, 'args'>) => `replays/${encodeURIComponent(args[0] ?? '')}`

async function start(given: Doing<StartOptions>): Promise<ExitCode> {
  const { args, options, control, now, newId } = given
  const json = {
    destinationId: args[0],
    what: options.what,
    from: timeOf(options.from, now()),
    to: timeOf(options.to, now()),
    reason: options.reason,
    perSecond: options.perSecond,
  }
  const what = { method: 'POST', path: 'replays', json: { ...json, id: options.id ?? newId() } } as const
  return say(given, await askedUnder(what.json.id, await control(), what, shape))
}

/** The API lists by id, of which the newest may be any. */
const MOST = 10_000

async function list({ control, options, out }: Doing<ListOptions>): Promise<ExitCode> {
  const of = { item: shape, first: z.object({}), query: {}, limit: MOST, most: 1_000 }
  const { items } = await pages(await control(), 'replays', of)
  const newest = items
    .filter(({ destinationId }) => destinationId === (options.destination ?? destinationId))
    .toSorted((one, other) => (other.createdAt ?? '').localeCompare(one.createdAt ?? ''))
    .slice(0, options.limit)
  if (options.json) {
    out.line(JSON.stringify({ items: newest }))
    return 0
  }
  const heads = ['begun', 'destination', 'what', 'state', 'read', 'of', 'replayed', 'id']
  const rows = newest.map((each) => [
    each.createdAt,
    each.destinationId,
    each.what,
    each.state,
    each.read,
    each.total,
    each.replayed,
    each.id,
  ])
  for (const line of table(heads, rows)) out.line(line)
  if (newest.length === 0) out.line('There is no such replay.')
  return 0
}

async function tell(given: Doing<Options>, what: Asked): Promise<ExitCode> {
  return say(given, await asked(await given.control(), what, shape))
}

function say({ options, out }: Doing<Options>, answer: z.infer<typeof shape>): ExitCode {
  for (const line of options.json ? [JSON.stringify(answer)] : told(answer)) out.line(line)
  return 0
}

function told({
  id,
  state,
  read = 0,
  replayed = 0,
  parked = 0,
  total,
  cause,
}: z.infer<typeof shape>): string[] {
  const of = total === undefined ? '' : ` of ${total}`
  const aside = parked === 0 ? '' : `, ${parked} could not be read: they are in topic parked`
  const line = `replay ${id} is ${plain(state)}: ${read}${of} records read, ${replayed} replayed${aside}`
  return cause ? [line, plain(cause.message)] : [line]
}
