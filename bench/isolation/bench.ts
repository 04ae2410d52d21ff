import { startStack } from '../../harness/kafka/stack.ts'
import { ENDPOINTS, runScenario, type Scenario, warmUp } from '../load/scenario.ts'
import { GRACE_US } from '../receivers/tally.ts'
import { bench as onOneHost } from './same-host.ts'
import { isolationTable, type Round } from './table.ts'

const PER_SECOND = 1_000
/** Leaves out the slow start of the processes. */
const HEALTHY_MS = 15_000
/** First the time before any breaker can open (a webhook must hang for 5 s), then the rest. */
const WINDOWS_MS = [6_000, 24_000]

/** For the goal's case and its baseline: p99 varies by half on such a busy machine. */
const MORE_ROUNDS = 4

const cases = [
  { name: 'none', bad: 0, behaviour: 'answers', isOften: true },
  { name: '5 % never answering', bad: 1, behaviour: 'silent' },
  { name: '20 % never answering', bad: 4, behaviour: 'silent', isOften: true },
  { name: '50 % never answering', bad: 10, behaviour: 'silent' },
  { name: '20 % answering after 2 s', bad: 4, behaviour: 'slow' },
  { name: '20 % answering 503', bad: 4, behaviour: 'failing' },
  { name: '20 % refusing connections', bad: 4, behaviour: 'refusing' },
] as const satisfies (Pick<Scenario, 'name' | 'bad' | 'behaviour'> & { isOften?: true })[]

/** Healthy webhooks next to others in trouble, on separate hosts and on one host. */
export async function bench(sizes: { rounds?: number } = {}): Promise<string> {
  return `${await onOwnHosts(sizes)}\n\n### On one host\n\n${await onOneHost(sizes)}`
}

/** Compares each kind of trouble with none. */
async function onOwnHosts({
  rounds = 2,
  moreRounds = MORE_ROUNDS,
  healthyMs = HEALTHY_MS,
  windowsMs = WINDOWS_MS,
} = {}): Promise<string> {
  await using stack = await startStack()
  await warmUp(stack)
  const all: Round[] = []
  for (let count = 0; count < rounds + moreRounds; count++) {
    const round: Round = []
    for (const one of cases) {
      const isRun = count < rounds || 'isOften' in one
      const scenario = { ...one, perSecond: PER_SECOND, healthyMs, windowsMs }
      round.push(isRun ? await runScenario(stack, scenario) : undefined)
    }
    all.push(round)
  }
  return `${explained({ rounds, moreRounds }, windowsMs)}\n\n${isolationTable(
    cases.map(({ name }) => name),
    all,
  )}`
}

type Rounds = { rounds: number; moreRounds: number }

const explained = ({ rounds, moreRounds }: Rounds, [before = 0, after = 0]: readonly number[]) =>
  `${ENDPOINTS} webhooks, each with its own origin, destination and source; ${PER_SECOND.toLocaleString('en-US')} track calls of 1 KB a second in turn, at a fixed
rate (open loop), through ingest, router and deliverer as \`npm start\` runs them, with the real ladder. All webhooks are
healthy at first, then some turn bad. "First" is the first ${before / 1_000} s, in which breakers cannot have opened; "then" is the ${after / 1_000} s
after them. All figures count only the healthy webhooks. "In time" is the share of calls due in a part that arrived by
its end, or ${GRACE_US / 1_000} ms later if they were due at the very end. Latency is from when a call was due to its arrival; calls that
have not arrived count with their wait so far.

All processes, Kafka, load and receiver share two cores. Each case runs on fresh processes and topics, one after the
other, ${rounds} rounds ("none" and "20 % never answering": ${rounds + moreRounds}): median, with the lowest and the highest. Ratios are to "none" of
the same round. Where the machine was hardly idle, it was the limit, and the figures mean nothing. Bad
webhooks count their first attempts themselves. Those that refuse connections cannot, so their figure is the deliverer's
and includes retries and probes.`
