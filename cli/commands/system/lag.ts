import { z } from 'zod'
import { request } from '../../api/client.ts'
import type { ExitCode } from '../../context.ts'
import { table } from '../../table.ts'
import { action, type Cli, type Invocation, print } from '../command.ts'

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
  missing: z.array(z.string()).optional(),
  blocked: z.array(z.looseObject({ group: z.string(), topic: z.string() })).default([]),
})

type Item = z.infer<typeof itemShape>
type Blocked = z.infer<typeof shape>['blocked']

export function addLag({ program, ...cli }: Cli): void {
  program
    .command('lag')
    .summary('show how far consumers are behind')
    .description(
      `Shows whether Sluice keeps up. For each consumer group and topic it prints the number of records waiting, how many seconds the \
slowest partition is behind, and the status: ok, "topic missing", or how many partitions are in warn, stall, stop or rewind. These \
partitions follow, one per line. On rungs of the retry ladder, the seconds count from the time when a record was due. Below, it \
lists control's unfinished tasks (deletions, syncs and replays), topics that do not exist, and records that Kafka has lost or \
removed in the last seven days.`,
    )
    .option('--group <group>', 'only this group')
    .option('--topic <topic>', 'only this topic')
    .option('--partitions', 'print every partition instead')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice lag --group deliverer --partitions
  $ sluice lag --json | jq '.items[] | select(.status != "ok")'`,
    )
    .action(action<Options>(cli, act))
}

async function act(invocation: Invocation<Options>): Promise<ExitCode> {
  const { options, control } = invocation
  const query = { group: options.group, topic: options.topic }
  const answer = await request(await control(), { path: 'lag', query }, shape)
  const { items, blocked } = answer
  return print(invocation, answer, [
    ...(options.partitions ? partitionTable(items, blocked) : summary(items, blocked)),
    ...(items.length + blocked.length === 0 ? ['No such group or topic.'] : []),
    ...unfinished(answer.tasks),
    ...missing(answer.missing),
    ...lost(answer.faults),
  ])
}

function summary(items: readonly Item[], blocked: Blocked): string[] {
  const rows = [...Map.groupBy(items, ({ group, topic }) => JSON.stringify([group, topic])).values()].map(
    (its) => [
      its[0]?.group,
      its[0]?.topic,
      its.length,
      its.reduce((sum, { lag }) => sum + (lag ?? 0), 0),
      slowest(its),
      states(its),
    ],
  )
  const withoutTopic = blocked.map(({ group, topic }) => [group, topic, 0, null, null, NO_TOPIC])
  const troubled = partitionTable(items.filter(({ status }) => status !== 'ok'))
  return [
    ...table(['group', 'topic', 'partitions', 'lag', 'seconds', 'status'], [...withoutTopic, ...rows]),
    ...(troubled.length > 0 ? ['', ...troubled] : []),
  ]
}

function slowest(items: readonly Item[]): number | null {
  const seconds = items.flatMap(({ lagSeconds }) => lagSeconds ?? [])
  return seconds.length > 0 ? Math.max(...seconds) : null
}

function states(items: readonly Item[]): string {
  const troubled = items.filter(({ status }) => status !== 'ok')
  const counted = [...Map.groupBy(troubled, ({ status }) => status)]
  return counted.map(([status, { length }]) => `${length} ${status}`).join(', ') || 'ok'
}

const NO_TOPIC = 'topic missing'

function partitionTable(items: readonly Item[], blocked: Blocked = []): string[] {
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
  const withoutTopic = blocked.map(({ group, topic }) => [group, topic, ...Array(5).fill(null), NO_TOPIC])
  return table(heads, [...withoutTopic, ...rows])
}

function unfinished(tasks: z.infer<typeof shape>['tasks'] = []): string[] {
  const rows = tasks.filter(({ count }) => count > 0)
  const lines = table(
    ['unfinished', 'count', 'oldest, seconds'],
    rows.map(({ kind, count, oldestSeconds }) => [kind, count, oldestSeconds]),
  )
  return lines.length > 0 ? ['', ...lines] : []
}

function missing(topics: readonly string[] = []): string[] {
  const lines = topics.map(
    (topic) => `Topic ${topic} does not exist. Restart any Sluice process to create it.`,
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
