import type { Command } from 'commander'
import { z } from 'zod'
import { type ApiRequest, pages, request, requestOnce } from '../../api/client.ts'
import type { ExitCode } from '../../context.ts'
import { plain, table } from '../../table.ts'
import { action, type Cli, collect, type Invocation, positiveInteger, print, timeOf } from '../command.ts'

type Options = { json?: true }
type ListOptions = Options & { destination?: string; limit: number }
type StartOptions = Options & {
  id?: string
  what?: string
  from?: string
  to?: string
  reason?: string
  event?: string
  user?: string
  status?: string
  skipReplayed?: true
  entry?: string[]
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

export function addReplay({ program, ...cli }: Cli): void {
  const replay = program
    .command('replay')
    .summary('send dead letters or past events again')
    .description('Sends dead letters, or past events, to one destination again.')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice replay start crm --from 24h --reason attempts_exhausted
  $ sluice replay start crm --what events --from 2026-01-02T00:00:00Z --to 2026-01-02T06:00:00Z
  $ sluice replay start crm --entry d3-1042
  $ sluice replay list --destination crm
  $ sluice replay show 3f0c...
  $ sluice replay cancel 3f0c...`,
    )
  addStart(replay, cli)
  replay
    .command('list')
    .description('Lists the replays of the last 30 days, newest first.')
    .option('--destination <id>', 'only to this destination')
    .option('--limit <count>', 'how many at most', positiveInteger, 50)
    .option('--json', 'print one JSON document')
    .action(action<ListOptions>(cli, list))
  replay
    .command('show')
    .argument('<id>', 'id of the replay')
    .description('Shows the progress of a replay.')
    .option('--json', 'print one JSON document')
    .action(action<Options>(cli, (invocation) => show(invocation, { path: pathOf(invocation) })))
  replay
    .command('cancel')
    .argument('<id>', 'id of the replay')
    .description('Stops a replay. What it has delivered so far stays delivered.')
    .option('--json', 'print one JSON document')
    .action(
      action<Options>(cli, (invocation) => show(invocation, { method: 'DELETE', path: pathOf(invocation) })),
    )
}

function addStart(replay: Command, cli: Omit<Cli, 'program'>): void {
  replay
    .command('start')
    .argument('<destination>', 'id of the destination')
    .description('Starts a replay, which runs in the background.')
    .option('--what <what>', 'dead: dead letters; events: all events of the time span (default: dead)')
    .option(
      '--since, --from <time>',
      'since: 2h (ago), or 2026-01-02T03:04:05Z (default: all that is stored)',
    )
    .option('--until, --to <time>', 'before (default: now)')
    .option(
      '--reason <reason>',
      'only dead letters with this reason: window_expired, attempts_exhausted, rejected, refused or rules_failed',
    )
    .option('--event <name>', 'only dead letters of events with this name')
    .option('--user <id>', 'only dead letters of this user')
    .option(
      '--status <status>',
      'only dead letters with an attempt that got this HTTP status (404) or class (5xx)',
    )
    .option(
      '--entry <id>',
      'send this delivery or dead letter again: an id that sluice deliveries or sluice dead --json prints (repeatable)',
      collect,
    )
    .option('--skip-replayed', 'skip dead letters that an earlier replay has sent')
    .option('--per-second <count>', 'deliveries per second at most', positiveInteger)
    .option('--id <id>', 'id of the replay (default: a new one); a second request with this id is refused')
    .option('--json', 'print one JSON document')
    .action(action<StartOptions>(cli, start))
}

const pathOf = ({ args }: Pick<Invocation<Options>, 'args'>) => `replays/${encodeURIComponent(args[0] ?? '')}`

async function start(invocation: Invocation<StartOptions>): Promise<ExitCode> {
  const { args, options, control, now, newId } = invocation
  const json = {
    destinationId: args[0],
    what: options.what ?? whatOf(options.entry),
    entries: options.entry,
    from: timeOf(options.from, now()),
    to: timeOf(options.to, now()),
    reason: options.reason,
    event: options.event,
    user: options.user,
    status: options.status,
    skipReplayed: options.skipReplayed,
    perSecond: options.perSecond,
  }
  const what = { method: 'POST', path: 'replays', json: { ...json, id: options.id ?? newId() } } as const
  const started = await requestOnce(await control(), what, shape)
  return print(invocation, started, progress(started))
}

/** Undefined means dead letters, whose ids begin with `x`. */
const whatOf = (entries: readonly string[] = []) =>
  entries.length > 0 && !entries[0]?.startsWith('x') ? 'deliveries' : undefined

async function list(invocation: Invocation<ListOptions>): Promise<ExitCode> {
  const { control, options } = invocation
  const { items } = await pages(await control(), 'replays', {
    item: shape,
    first: z.object({}),
    query: { newest: 'true', destinationId: options.destination },
    limit: options.limit,
    perPage: 1_000,
  })
  const heads = ['started', 'destination', 'what', 'state', 'read', 'of', 'replayed', 'id']
  const rows = items.map((each) => [
    each.createdAt,
    each.destinationId,
    each.what,
    each.state,
    each.read,
    each.total,
    each.replayed,
    each.id,
  ])
  return print(invocation, { items }, items.length > 0 ? table(heads, rows) : ['No such replay.'])
}

async function show(invocation: Invocation<Options>, what: ApiRequest): Promise<ExitCode> {
  const replay = await request(await invocation.control(), what, shape)
  return print(invocation, replay, progress(replay))
}

function progress({
  id,
  state,
  read = 0,
  replayed = 0,
  parked = 0,
  total,
  cause,
}: z.infer<typeof shape>): string[] {
  const of = total === undefined ? '' : ` of ${total}`
  const left = parked === 0 ? '' : `, ${parked} could not be replayed (see topic parked)`
  const line = `replay ${id} is ${plain(state)}: ${read}${of} records read, ${replayed} replayed${left}`
  return cause ? [line, plain(cause.message)] : [line]
}
