import { type Stack, startStack } from '../../harness/kafka/stack.ts'
import { markdownTable } from '../../harness/results.ts'
import { median, spread, verdict } from '../figures/summary.ts'
import { pathOf } from '../load/calls.ts'
import { warmUp } from '../load/scenario.ts'
import { startLoad } from '../load/start.ts'
import type { Behaviour, Hosts } from '../receivers/start.ts'
import { GRACE_US, type WindowReport } from '../receivers/tally.ts'
import { nowUs, sleepUntil } from '../stack/machine.ts'
import { startPipeline } from '../stack/pipeline.ts'

const START_US = 1e6
/** Leaves out the slow start of the processes. */
const HEALTHY_US = 15e6
const WINDOW_US = 20e6
/** As in `isolation`: no breaker can open in the first 6 s, so p99 covers the 24 s after them. */
const FIRST_US = 6e6
const THEN_US = 24e6

/**
 * The first `bad` webhooks get into trouble. `windowUs`: time measured from then on. `skipUs`: its start, left out of
 * p99.
 */
type Run = {
  hosts: Hosts
  bad: number
  behaviour: Behaviour
  badPerSecond: number
  perSecond: number
  windowUs: number
  skipUs: number
}
type Case = { name: string; run: Run; control: Run; figure: 'soon' | 'inTime'; atLeast: number }

const [SAME, APART] = [
  [0, 0],
  [0, 1],
] as const

/** One healthy webhook next to one in trouble. */
function pair(name: string, behaviour: Behaviour, badPerSecond: number): Case {
  const both = { bad: 1, behaviour, badPerSecond, perSecond: 20, windowUs: WINDOW_US, skipUs: 0 }
  return {
    name,
    run: { ...both, hosts: SAME },
    control: { ...both, hosts: APART },
    figure: 'soon',
    atLeast: 0.995,
  }
}

const MANY = 1_000
const HEALTHY = 16
const many: Run = {
  hosts: [...Array<number>(MANY).fill(0), ...Array.from({ length: HEALTHY }, (_, index) => index + 1)],
  bad: MANY,
  behaviour: 'silent',
  badPerSecond: 200,
  perSecond: 800,
  windowUs: FIRST_US + THEN_US,
  skipUs: FIRST_US,
}

const cases: readonly Case[] = [
  pair('hangs, 100/s', 'silent', 100),
  pair('answers 503, 100/s', 'failing', 100),
  pair('resets, 100/s', 'resetting', 100),
  pair('hangs, 5/s', 'silent', 5),
  {
    name: `${MANY.toLocaleString('en-US')} webhooks of one host hang`,
    run: many,
    control: { ...many, behaviour: 'answers' },
    figure: 'inTime',
    atLeast: 0.95,
  },
]

type Pair = { is: WindowReport; control: WindowReport }

export async function bench({ rounds = 3 } = {}): Promise<string> {
  await using stack = await startStack()
  await warmUp(stack)
  const results = cases.map((): Pair[] => [])
  for (let round = 0; round < rounds; round++)
    for (const [index, { name, run, control }] of cases.entries()) {
      const pair = { is: await runOnce(stack, run), control: await runOnce(stack, control) }
      results[index]?.push(pair)
      process.stderr.write(`${name}: ${inShort(pair.is)}; control: ${inShort(pair.control)}\n`)
    }
  return `${explained(rounds)}\n\n${table(results)}`
}

/** On fresh processes and topics. All webhooks answer at first; then the bad ones misbehave. */
async function runOnce(
  stack: Stack,
  { hosts, bad, behaviour, badPerSecond, perSecond, windowUs, skipUs }: Run,
): Promise<WindowReport> {
  await using pipeline = await startPipeline(stack, hosts)
  await using closing = new AsyncDisposableStack()
  const { endpoints, target, url, keys } = pipeline
  const fromUs = nowUs() + START_US
  const troubleUs = fromUs + HEALTHY_US
  const endUs = troubleUs + windowUs
  const calls = Math.ceil(((endUs - fromUs) / 1e6) * perSecond)
  const windows = [troubleUs, troubleUs + skipUs].map((windowFromUs) => ({
    fromUs: windowFromUs,
    toUs: endUs,
  }))
  await endpoints.expect({ fromUs, perSecond, calls, endpoints: 1, bad: 0, windows, countedFrom: bad })
  const load = { target, url, path: pathOf(target), batch: 1, connections: 32, fromUs }
  const loads = [
    startLoad({ ...load, keys: keys.slice(bad), perSecond }),
    startLoad({ ...load, keys: keys.slice(0, bad), perSecond: badPerSecond }),
  ]
  closing.defer(async () => void (await Promise.all(loads.map((each) => each.stop()))))
  await sleepUntil(troubleUs)
  await endpoints.misbehave({ bad, behaviour })
  await sleepUntil(endUs + GRACE_US)
  const [all, then] = (await endpoints.report()).windows
  if (!all || !then) throw new Error('the receiver reported too few windows')
  return { ...all, p99Ms: then.p99Ms }
}

const inShort = ({ due, inTime, soon, p99Ms }: WindowReport) =>
  `of ${due}, ${percent(soon / due)} within 1 s and ${percent(inTime / due)} in time, p99 ${p99Ms.toFixed(1)} ms`

const percent = (share: number) => `${(share * 100).toFixed(1)} %`

const HEAD = [
  ...['in trouble', 'share', 'share, control', 'ratio', 'goal'],
  ...['p99 ms', 'p99 ms, control', 'ratio', 'goal'],
]

/** @param results the rounds of each case */
export function table(results: readonly (readonly Pair[])[]): string {
  const rows = cases.map(({ name, figure, atLeast }, index) => {
    const pairs = results[index] ?? []
    const share = (report: WindowReport) => report[figure] / report.due
    const shares = pairs.map(({ is, control }) => share(is) / share(control))
    const p99s = pairs.map(({ is, control }) => is.p99Ms / control.p99Ms)
    const hundred = (part: keyof Pair) =>
      `${spread(
        pairs.map((each) => share(each[part]) * 100),
        1,
      )} %`
    const p99 = (part: keyof Pair) =>
      spread(
        pairs.map((each) => each[part].p99Ms),
        1,
      )
    const cells = [
      ...[name, hundred('is'), hundred('control'), `**${spread(shares, 3)}**`, `>= ${atLeast}`],
      ...[p99('is'), p99('control'), `**${spread(p99s)}**`, '<= 1.2'],
    ]
    const goals = [
      { what: `${name}: the ratio of the shares`, is: median(shares), atLeast },
      { what: `${name}: the ratio of p99`, is: median(p99s), atMost: 1.2 },
    ]
    return { cells, goals }
  })
  const head = markdownTable(
    HEAD,
    rows.map(({ cells }) => cells),
  )
  return `${head}\n\n${verdict(rows.flatMap(({ goals }) => goals))}`
}

const explained = (rounds: number) =>
  `Healthy webhooks next to webhooks in trouble. In the first four cases, one healthy webhook gets 20 calls a second. Another webhook of the same origin, with its own path, destination
and source, is in trouble. In the control, the webhook in trouble is on another host. The share counts the healthy webhook's events that arrive within 1 s of when they were due.

In the last case, ${MANY.toLocaleString('en-US')} webhooks of one host, each with its own destination, get ${many.badPerSecond} calls a second together and hang. ${HEALTHY} webhooks on healthy hosts get ${many.perSecond} a second together. The control is
the same without trouble. The share is "in time" as in \`isolation\`.

All webhooks answer for ${HEALTHY_US / 1e6} s. The figures cover the ${WINDOW_US / 1e6} s after that. In the last case they cover the ${(FIRST_US + THEN_US) / 1e6} s after that, and p99 covers the last ${THEN_US / 1e6} of them, as in \`isolation\`. p99 is the latency from
when a call was due to its arrival; an event that has not arrived counts with its wait so far. Calls come at a fixed rate (open loop). All processes share the machine. Each run has fresh processes
and topics. Rounds: ${rounds}; median, lowest and highest. Ratios are to the control of the same round.`
