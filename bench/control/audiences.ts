import { Readable } from 'node:stream'
import { startStack } from '../../harness/kafka/stack.ts'
import { type PreparedSystem, prepareSystem } from '../../harness/prepare.ts'
import { markdownTable } from '../../harness/results.ts'
import { EVENTS } from '../../schemas/topics.ts'
import { type Goal, median, spread, spreadOfCounts, verdict } from '../figures/summary.ts'
import { type ControlProcess, startControl } from '../stack/control.ts'
import { MB, measureUse, type Use } from '../stack/machine.ts'
import { recordsWritten } from '../stack/topics.ts'

const MEMBERS = 1_000_000
const WARM_MEMBERS = 20_000
/** This share of the members leaves, and as many join. */
const OTHERS = 0.01
const SOURCE = { id: 'bench', writeKey: 'bench-write-key', enabled: true }

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

/** Uploads to a new audience. */
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

/** Uploads members by their numbers, and counts the calls that Kafka got. */
async function sync(
  name: string,
  { id, from, members, expected }: Upload,
  { system, control }: Parts,
): Promise<Case> {
  const before = await recordsWritten(system, EVENTS)
  const { result, ...took } = await measureUse(control.pid, () =>
    control.ask<{ state: string }>('PUT', `audiences/${id}/members`, {
      body: Readable.from(lines(from, members)),
    }),
  )
  const calls = (await recordsWritten(system, EVENTS)) - before
  if (result.state !== 'done' || calls !== expected)
    throw new Error(`${calls} calls of ${expected}: ${JSON.stringify(result)}`)
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

/** `members`: those that the upload names. `calls`: those that Kafka got. */
type Case = Use & { name: string; members: number; calls: number }

const FIRST_PER_SECOND = 20_000
const AGAIN_S = 20
const RSS_MB = 512
const GOALS: Readonly<Record<string, string>> = {
  first: `>= ${FIRST_PER_SECOND.toLocaleString('en-US')} calls/s`,
  'the same again': `<= ${AGAIN_S} s`,
}

function goals(rounds: readonly (readonly Case[])[]): Goal[] {
  const of = (name: string, figure: (one: Case) => number) =>
    median(rounds.flatMap((round) => round.filter((one) => one.name === name).map(figure)))
  const highest = Math.max(...rounds.flat().map(({ rss }) => rss))
  return [
    { what: 'calls/s of the first upload', is: of('first', perSecond), atLeast: FIRST_PER_SECOND },
    {
      what: 'seconds of the unchanged upload',
      is: of('the same again', ({ seconds }) => seconds),
      atMost: AGAIN_S,
    },
    { what: "control's RSS in MB", is: highest / MB, atMost: RSS_MB },
  ]
}

const perSecond = ({ calls, seconds }: Case) => calls / seconds

function report(rounds: readonly (readonly Case[])[], members: number): string {
  const names = rounds[0]?.map(({ name }) => name) ?? []
  const rows = names.map((name, index) => {
    const cases = rounds.flatMap((round) => round[index] ?? [])
    const [first] = cases
    return [
      name,
      `**${spread(
        cases.map(({ seconds }) => seconds),
        1,
      )}**`,
      (first?.calls ?? 0).toLocaleString('en-US'),
      first?.calls ? `**${spreadOfCounts(cases.map(perSecond))}**` : '',
      spread(
        cases.map((one) => (one.cpu / one.members) * 1e6),
        1,
      ),
      spread(
        cases.map(({ rss }) => rss / MB),
        0,
      ),
      `${spread(
        cases.map(({ idleShare }) => idleShare * 100),
        0,
      )} %`,
      GOALS[name] ?? '',
    ]
  })
  return `${members.toLocaleString('en-US')} members, one id of 24 characters per line, uploaded to control as \`npm start\` runs it, with a new audience in
each round. Seconds are from the request's first byte to its answer, which comes when everything is compared and Kafka has
acknowledged each identify call (counted in topic \`events\`) and each member. Control's highest resident memory has to be
<= ${RSS_MB} MB. All processes, Kafka and the upload share two cores. Median of ${rounds.length} rounds, with the lowest and the highest.

${markdownTable(
  [
    ...['upload', 'seconds', 'identify calls', 'calls/s', "control's us of CPU per member"],
    ...["control's RSS, MB", 'machine idle', 'goal'],
  ],
  rows,
)}

${verdict(goals(rounds))}`
}
