import { startStack } from '../../harness/kafka/stack.ts'
import { markdownTable } from '../../harness/results.ts'
import { median, verdict } from '../figures/summary.ts'
import { ENDPOINTS, warmUp } from '../load/scenario.ts'
import { MB } from '../stack/machine.ts'
import { AWAY, type Drain, drainOutage, drainRestart, type Outage } from './backlogs.ts'

const PER_SECOND = 1_000
const MINUTES = 10
const GOAL = 4
const GOAL_P99 = 2

export async function bench({
  minutes = MINUTES,
  count = MINUTES * 60 * PER_SECOND,
  perSecond = PER_SECOND,
} = {}): Promise<string> {
  await using stack = await startStack()
  await warmUp(stack)
  const restart = await drainRestart(stack, { backlog: count, perSecond })
  const outage = await drainOutage(stack, { outageMs: minutes * 60_000, perSecond })
  return report({ outage, restart, minutes, perSecond })
}

type Drained = { outage: Outage; restart: Drain; minutes: number; perSecond: number }

function report({ outage, restart, minutes, perSecond }: Drained): string {
  const p99s = outage.meanwhile.map(({ p99Ms }) => p99Ms)
  const p99Ratio = median(p99s) / outage.before.p99Ms
  return [
    explained(minutes, perSecond),
    markdownTable(
      [
        ...['', 'calls that waited', 'worked off within, s', 'rate, 1/s', 'arrivals, 1/s', 'ratio', 'goal'],
        ...["deliverer's CPU, of a core", 'its RSS, MB', 'machine idle'],
      ],
      [drained('webhooks were away', outage), drained('the deliverer was away', restart)],
    ),
    `Fresh calls to the other webhooks while the backlog is drained, in parts of ${minutes * 6} s:`,
    markdownTable(
      ['', 'in time', 'p50 ms', 'p99 ms', 'ratio', 'goal'],
      [
        fresh('30 s before the outage', [outage.before], '', ''),
        fresh('meanwhile', outage.meanwhile, ratioText(p99Ratio, p99s, outage), `<= ${GOAL_P99}`),
      ],
    ),
    `${outage.toRungs.toLocaleString('en-US')} records were written to rungs in all. When the deliverer was away, fresh calls wait in order behind the backlog of
their partition, so none is faster until the backlog is worked off, whether the goal is reached or not.`,
    verdict([
      {
        what: 'the drain rate after webhooks were away, relative to arrivals,',
        is: times(outage),
        atLeast: GOAL,
      },
      {
        what: 'the drain rate after the deliverer was away, relative to arrivals,',
        is: times(restart),
        atLeast: GOAL,
      },
      { what: 'the p99 of fresh calls, relative to before the outage,', is: p99Ratio, atMost: GOAL_P99 },
    ]),
  ].join('\n\n')
}

/** The drain rate, relative to arrivals. */
const times = ({ perSecond, arrivalsPerSecond }: Drain) => perSecond / arrivalsPerSecond

function drained(name: string, one: Drain): string[] {
  const { backlog, left, seconds, perSecond, arrivalsPerSecond, deliverer } = one
  return [
    name,
    backlog.toLocaleString('en-US'),
    left <= arrivalsPerSecond
      ? seconds.toFixed(0)
      : `${left.toLocaleString('en-US')} are left after ${seconds.toFixed(0)}`,
    perSecond.toFixed(0),
    arrivalsPerSecond.toFixed(0),
    `**${times(one).toFixed(1)}**`,
    `>= ${GOAL}`,
    `${((deliverer.cpu / seconds) * 100).toFixed(0)} %`,
    (deliverer.rss / MB).toFixed(0),
    `${(deliverer.idleShare * 100).toFixed(0)} %`,
  ]
}

const ratioText = (ratio: number, p99s: readonly number[], { before }: Outage) =>
  `**${ratio.toFixed(2)}** (at most ${(Math.max(...p99s) / before.p99Ms).toFixed(2)})`

function fresh(name: string, reports: Outage['meanwhile'], ...rest: string[]): string[] {
  const middle = (of: (report: Outage['before']) => number) => median(reports.map(of))
  return [
    name,
    `${(middle(({ inTime, due }) => inTime / due) * 100).toFixed(1)} %`,
    middle(({ p50Ms }) => p50Ms).toFixed(1),
    middle(({ p99Ms }) => p99Ms).toFixed(1),
    ...rest,
  ]
}

const explained = (minutes: number, perSecond: number) =>
  `${perSecond.toLocaleString('en-US')} track calls of 1 KB a second, at a fixed rate, through ingest, router and deliverer to ${ENDPOINTS} webhooks as in
\`isolation\`, once with each of two backlogs. **Webhooks were away:** ${AWAY} of them do not answer for ${minutes} minutes, their calls
are deferred on rungs, then they answer again; the clock starts there. **The deliverer was away:** it is killed, the
backlog is written to \`deliveries\`, and it is started; the clock starts when it is ready. A backlog is worked off when no
more is outstanding than arrives within a second. The rate includes the fresh calls to the same webhooks. All processes,
Kafka, load and receiver share two cores.`
