import { z } from 'zod'
import { asked } from '../api/ask.ts'
import { table } from '../table.ts'
import type { ExitCode } from '../world.ts'
import { type Adding, type Doing, doing } from './command.ts'

type Options = { group?: string; topic?: string; partitions?: true; json?: true }

const number = z.number().nullable()
const itemShape = z.looseObject({
  group: z.string(),
  topic: z.string(),
  partition: z.number(),
  end: number,
  committed: number,
  lag: number,
  lagSeconds: number,
  status: z.string(),
})
const shape = z.looseObject({
  items: z.array(itemShape),
  tasks: z
    .array(z.looseObject({ kind: z.string(), count: z.number(), oldestSeconds: z.number() }))
    .optional(),
  faults: z
    .array(
      z.looseObject({
        at: z.string().nullable(),
        topic: z.string(),
        partition: z.number(),
        cause: z.string(),
        from: z.number(),
        lost: z.number(),
        unread: z.number(),
      }),
    )
    .optional(),
})

type Item = z.infer<typeof itemShape>

export function addLag({ program, ...adding }: Adding): void {
  program
    .command('lag')
    .summary('how far consumers are behind')
    .description(
      `Shows whether Sluice keeps up with its work: a line for each group of consumers and topic, with how many records are still to be done,
how many seconds the slowest partition is behind, and ok or how many partitions are in warn, stall, stop or rewind. These are below, one
by one. For rungs of the ladder the seconds are those past due. Then what control has still to do: deletions, syncs and replays. Then what Kafka
has lost or removed in the last seven days.`,
    )
    .option('--group <group>', 'of this group')
    .option('--topic <topic>', 'in this topic')
    .option('--partitions', 'each partition, whatever its state, in place of that')
    .option('--json', 'as one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice lag --group deliverer --partitions
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
  for (const line of options.partitions ? ofPartitions(answer.items) : atAGlance(answer.items)) out.line(line)
  if (answer.items.length === 0) out.line('Nothing is known of such a group or topic.')
  for (const line of undone(answer.tasks)) out.line(line)
  for (const line of lost(answer.faults)) out.line(line)
  return 0
}

function atAGlance(items: readonly Item[]): string[] {
  const rows = [...Map.groupBy(items, ({ group, topic }) => JSON.stringify([group, topic])).values()].map(
    (its) => [
      its[0]?.group,
      its[0]?.topic,
      its.length,
      its.reduce((sum, { lag }) => sum + (lag ?? 0), 0),
      longest(its),
      states(its),
    ],
  )
  const troubled = ofPartitions(items.filter(({ status }) => status !== 'ok'))
  return [
    ...table(['group', 'topic', 'partitions', 'lag', 'seconds', 'status'], rows),
    ...(troubled.length > 0 ? ['', ...troubled] : []),
  ]
}

/** Null: not known of any. */
function longest(items: readonly Item[]): number | null {
  const seconds = items.flatMap(({ lagSeconds }) => lagSeconds ?? [])
  return seconds.length > 0 ? Math.max(...seconds) : null
}

/** Like `2 stall, 1 warn`. */
function states(items: readonly Item[]): string {
  const troubled = items.filter(({ status }) => status !== 'ok')
  const counted = [...Map.groupBy(troubled, ({ status }) => status)]
  return counted.map(([status, { length }]) => `${length} ${status}`).join(', ') || 'ok'
}

function ofPartitions(items: readonly Item[]): string[] {
  const heads = ['group', 'topic', 'partition', 'end', 'committed', 'lag', 'seconds', 'status']
  const rows = items.map(({ group, topic, partition, end, committed, lag, lagSeconds, status }) => [
    group,
    topic,
    partition,
    end,
    committed,
    lag,
    lagSeconds,
    status,
  ])
  return table(heads, rows)
}

function undone(tasks: z.infer<typeof shape>['tasks'] = []): string[] {
  const rows = tasks.filter(({ count }) => count > 0)
  const lines = table(
    ['undone', 'count', 'oldest, seconds'],
    rows.map(({ kind, count, oldestSeconds }) => [kind, count, oldestSeconds]),
  )
  return lines.length > 0 ? ['', ...lines] : []
}

function lost(faults: z.infer<typeof shape>['faults'] = []): string[] {
  const heads = ['lost by Kafka', 'topic', 'partition', 'from offset', 'records', 'unread', 'at']
  const rows = faults.map(({ cause, topic, partition, from, lost: records, unread, at }) => [
    cause,
    topic,
    partition,
    from,
    records,
    unread,
    at,
  ])
  const lines = table(heads, rows)
  return lines.length > 0 ? ['', ...lines] : []
}
