import { Readable } from 'node:stream'
import { startStack } from '../../harness/kafka/stack.ts'
import { type PreparedSystem, prepareSystem } from '../../harness/prepare.ts'
import { EVENTS } from '../../schemas/topics.ts'
import { recordsWritten } from '../figures/outside.ts'
import { used } from '../figures/used.ts'
import { type ControlProcess, startControl } from '../stack/control.ts'
import { MB } from '../stack/process.ts'
import { type Case, report } from './audiences-table.ts'

const MEMBERS = 1_000_000
const WARM_MEMBERS = 20_000
/** Of the members: so many leave, and as many join. */
const OTHERS = 0.01
const SOURCE = { id: 'bench', writeKey: 'bench-write-key', enabled: true }

/** @returns the section of RESULTS.md: whole audiences, uploaded for the first time, again, and a little changed. */
export async function bench({ rounds = 2, count = MEMBERS } = {}): Promise<string> {
  await using closing = new AsyncDisposableStack()
  const stack = closing.use(await startStack())
  const system = await prepareSystem({ ...stack, sources: [SOURCE] })
  const control = closing.adopt(await startControl(system), async (it) => void (await it.kill()))
  await syncs('warm-up', WARM_MEMBERS, { system, control })
  const all: Case[][] = []
  for (let round = 1; round <= rounds; round++)
    all.push(await syncs(`round ${round}`, count, { system, control }))
  return report(all, count)
}

type Parts = { system: PreparedSystem; control: ControlProcess }

/** An audience of its own from its first upload on. */
async function syncs(name: string, members: number, parts: Parts): Promise<Case[]> {
  const id = name.replace(' ', '-')
  await parts.control.ask('POST', 'audiences', { json: { id, name, sourceId: SOURCE.id } })
  const others = Math.round(members * OTHERS)
  return [
    await sync('first', { id, from: 0, members, expected: members }, parts),
    await sync('the same again', { id, from: 0, members, expected: 0 }, parts),
    await sync('1 % others', { id, from: others, members, expected: 2 * others }, parts),
  ]
}

type Upload = { id: string; from: number; members: number; expected: number }

/** Uploads members by their numbers, and counts what Kafka has got of it. */
async function sync(
  name: string,
  { id, from, members, expected }: Upload,
  { system, control }: Parts,
): Promise<Case> {
  const before = await recordsWritten(system, EVENTS)
  const { came, ...took } = await used(control.pid, () =>
    control.ask<{ state: string }>('PUT', `audiences/${id}/members`, {
      body: Readable.from(lines(from, members)),
    }),
  )
  const calls = (await recordsWritten(system, EVENTS)) - before
  if (came.state !== 'done' || calls !== expected)
    throw new Error(`${calls} calls of ${expected}: ${JSON.stringify(came)}`)
  process.stderr.write(
    `${id}, ${name}: ${took.seconds.toFixed(1)} s, ${Math.round(took.rss / MB)} MB, ${took.cpu.toFixed(1)} s of CPU, idle ${(took.idleShare * 100).toFixed(0)} %\n`,
  )
  return { name, members, calls, ...took }
}

const AT_ONCE = 2_000

/** Ids of 24 digits, a line each. */
function* lines(from: number, members: number): Generator<string> {
  for (let first = 0; first < members; first += AT_ONCE) {
    const some = Math.min(AT_ONCE, members - first)
    yield Array.from({ length: some }, (_, index) => `${idOf(from + first + index)}\n`).join('')
  }
}

const idOf = (number: number) => `5f3a${number.toString(16).padStart(20, '0')}`
