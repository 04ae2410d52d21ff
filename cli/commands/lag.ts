import { z } from 'zod'
import { asked } from '../api/refused.ts'
import { table } from '../table.ts'
import type { ExitCode } from '../world.ts'
import { type Adding, type Doing, doing } from './command.ts'

type Options = { group?: string; topic?: string; json?: true }

const number = z.number().nullable()
const shape = z.looseObject({
  items: z.array(
    z.looseObject({
      group: z.string(),
      topic: z.string(),
      partition: z.number(),
      end: number,
      committed: number,
      lag: number,
      lagSeconds: number,
      status: z.string(),
    }),
  ),
  tasks: z
    .array(z.looseObject({ kind: z.string(), count: z.number(), oldestSeconds: z.number() }))
    .optional(),
})

export function addLag({ program, ...adding }: Adding): void {
  program
    .command('lag')
    .summary('how far consumers are behind')
    .description(
      `Prints for each group, topic and partition how many records and seconds it is behind, and what is to be thought of that:
ok, warn, stall, stop or rewind. For rungs of the ladder the seconds are those past due. Below them, what control has still to do:
deletions, syncs and replays.`,
    )
    .option('--group <group>', 'of this group')
    .option('--topic <topic>', 'in this topic')
    .option('--json', 'as one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice lag --group deliverer
  $ sluice lag --json | jq '.items[] | select(.status != "ok")'`,
    )
    .action(doing<Options>(adding, act))
}

async function act({ options, control, out }: Doing<Options>): Promise<ExitCode> {
  const query = { group: options.group, topic: options.topic }
  const answer = await asked(await control(), { path: 'lag', query }, shape)
  if (options.json) {
    out.line(JSON.stringify(answer))
    return 0
  }
  const heads = ['group', 'topic', 'partition', 'end', 'committed', 'lag', 'seconds', 'status']
  const rows = answer.items.map((each) => [
    each.group,
    each.topic,
    each.partition,
    each.end,
    each.committed,
    each.lag,
    each.lagSeconds,
    each.status,
  ])
  for (const line of table(heads, rows)) out.line(line)
  if (answer.items.length === 0) out.line('Nothing is known of such a group or topic.')
  for (const line of undone(answer.tasks)) out.line(line)
  return 0
}

function undone(tasks: z.infer<typeof shape>['tasks'] = []): string[] {
  const rows = tasks.filter(({ count }) => count > 0)
  const lines = table(
    ['undone', 'count', 'oldest, seconds'],
    rows.map(({ kind, count, oldestSeconds }) => [kind, count, oldestSeconds]),
  )
  return lines.length > 0 ? ['', ...lines] : []
}
