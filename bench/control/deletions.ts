import { startStack } from '../../harness/kafka/stack.ts'
import { type PreparedSystem, prepareSystem, putDestinations } from '../../harness/prepare.ts'
import { markdownTable } from '../../harness/results.ts'
import { EVENTS } from '../../schemas/topics.ts'
import { median, spread, verdict } from '../figures/summary.ts'
import { type ControlProcess, performed, startControl } from '../stack/control.ts'
import { measureUse } from '../stack/machine.ts'
import { recordsWritten } from '../stack/topics.ts'

const USERS = 5_000
const SOURCES = 4
const ANSWER_S = 1

type Variant = { name: string; sources: number; suppress: boolean }
/** Milliseconds since the request. */
type Case = { deletes: number; answeredMs: number; performedMs: number; idleShare: number }

const variants: readonly Variant[] = [
  { name: 'of 1 source', sources: 1, suppress: false },
  { name: `of ${SOURCES} sources`, sources: SOURCES, suppress: false },
  { name: 'of 1 source, and suppressed', sources: 1, suppress: true },
]

export async function bench({ rounds = 5, count = USERS } = {}): Promise<string> {
  await using closing = new AsyncDisposableStack()
  const stack = closing.use(await startStack())
  const system = await prepareSystem({ ...stack, sources: sourceIds().map(toSource) })
  await putDestinations(system, sourceIds().map(toDestination))
  const control = closing.adopt(await startControl(system), async (it) => void (await it.kill()))
  const all: Case[][] = []
  // the first warms up
  for (let round = 0; round <= rounds; round++) {
    const cases = []
    for (const variant of variants)
      cases.push(await request({ ...variant, count, round }, { system, control }))
    if (round > 0) all.push(cases)
  }
  return report(all, count)
}

const sourceIds = (count = SOURCES) => Array.from({ length: count }, (_, index) => `source-${index}`)
const toSource = (id: string) => ({ id, writeKey: `write-key-of-${id}`, enabled: true })
/** Nothing listens there, and no deliverer runs. */
const toDestination = (sourceId: string) => ({ id: `of-${sourceId}`, sourceId, url: 'http://127.0.0.1:9/' })

type Parts = { system: PreparedSystem; control: ControlProcess }

async function request(
  { name, sources, suppress, count, round }: Variant & { count: number; round: number },
  { system, control }: Parts,
): Promise<Case> {
  const before = await recordsWritten(system, EVENTS)
  const userIds = Array.from({ length: count }, (_, user) => `${name}-${round}-${user}`)
  const start = performance.now()
  const { result, idleShare } = await measureUse(control.pid, async () => {
    const json = { userIds, sourceIds: sourceIds(sources), suppress }
    const { id, deletes } = await control.ask<{ id: string; deletes: number }>('POST', 'deletions', { json })
    const answeredMs = performance.now() - start
    await performed(control, id)
    return { deletes, answeredMs, performedMs: performance.now() - start }
  })
  const written = (await recordsWritten(system, EVENTS)) - before
  if (written !== count * sources || result.deletes !== written)
    throw new Error(`${written} of ${count * sources} events`)
  process.stderr.write(
    `${name}: answered after ${result.answeredMs.toFixed(0)} ms, performed after ${result.performedMs.toFixed(0)} ms\n`,
  )
  return { ...result, idleShare }
}

function report(rounds: readonly Case[][], count: number): string {
  const casesOf = (index: number) => rounds.flatMap((round) => round[index] ?? [])
  const answered = variants.map((_, index) => casesOf(index).map(({ answeredMs }) => answeredMs / 1_000))
  const goals = variants.map(({ name }, index) => ({
    what: `the answer ${name}, in seconds,`,
    is: median(answered[index] ?? []),
    atMost: ANSWER_S,
  }))
  const rows = variants.map(({ name }, index) => {
    const cases = casesOf(index)
    const of = (figure: (one: Case) => number, digits = 2) => spread(cases.map(figure), digits)
    return [
      name,
      (cases[0]?.deletes ?? 0).toLocaleString('en-US'),
      `**${spread(answered[index] ?? [])}**`,
      of(({ performedMs }) => performedMs / 1_000),
      `${of(({ idleShare }) => idleShare * 100, 0)} %`,
      `<= ${ANSWER_S} s until the answer`,
    ]
  })
  return `${count.toLocaleString('en-US')} users in one request to control as \`npm start\` runs it: seconds until the answer, which comes when Kafka has the
request, and until all \`delete\` events (and suppressions) are in Kafka, by its status. All processes share two cores.
Median of ${rounds.length} rounds, with the lowest and the highest.

${markdownTable(['users deleted', 'events', 'answered after, s', 'performed after, s', 'machine idle', 'goal'], rows)}

${verdict(goals)}`
}
