import { z } from 'zod'
import type { Asked } from '../api/ask.ts'
import { asked } from '../api/refused.ts'
import { wholeNumber } from '../pages.ts'
import { plain } from '../table.ts'
import { timeOf } from '../time.ts'
import type { ExitCode } from '../world.ts'
import { type Adding, type Doing, doing } from './command.ts'

type Options = { json?: true }
type StartOptions = Options & {
  what?: string
  from?: string
  to?: string
  reason?: string
  perSecond?: number
}

const shape = z.looseObject({
  id: z.string(),
  state: z.string(),
  read: z.number().optional(),
  replayed: z.number().optional(),
  total: z.number().optional(),
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
    .option('--reason <reason>', 'of what was given up: window_expired, attempts_exhausted or refused')
    .option('--per-second <count>', 'deliveries a second at most', wholeNumber)
    .option('--json', 'as one JSON document')
    .action(doing<StartOptions>(adding, start))
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
  const { args, options, now } = given
  const json = {
    destinationId: args[0],
    what: options.what,
    from: timeOf(options.from, now()),
    to: timeOf(options.to, now()),
    reason: options.reason,
    perSecond: options.perSecond,
  }
  return tell(given, { method: 'POST', path: 'replays', json })
}

async function tell({ control, options, out }: Doing<Options>, what: Asked): Promise<ExitCode> {
  const answer = await asked(await control(), what, shape)
  const { id, state, read = 0, replayed = 0, total } = answer
  const of = total === undefined ? '' : ` of ${total}`
  const line = `replay ${id} is ${plain(state)}: ${read}${of} records read, ${replayed} replayed`
  out.line(options.json ? JSON.stringify(answer) : line)
  return 0
}
