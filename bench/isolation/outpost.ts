import { startStack } from '../../harness/kafka/stack.ts'
import { markdownTable } from '../../harness/results.ts'
import { ENDPOINTS, runScenario, type ScenarioResult, warmUp } from '../load/scenario.ts'
import { GRACE_US } from '../receivers/tally.ts'

const PER_SECOND = 1_000
const SILENT = 4
/** Measured beforehand on a similar machine: Redis, PostgreSQL, RabbitMQ, 100 slots. */
const PEER = ['Hookdeck Outpost, 4 never answering', '2.5 %', '', '59,000', '', '']

/** @returns the section of RESULTS.md: the scenario that a peer was measured in. */
export async function bench({ minutes = 1 } = {}): Promise<string> {
  await using stack = await startStack()
  await warmUp(stack)
  const shape = { perSecond: PER_SECOND, healthyMs: 0, windowsMs: [minutes * 60_000] }
  const none = await runScenario(stack, { ...shape, name: 'none', bad: 0, behaviour: 'answers' })
  const silent = await runScenario(stack, { ...shape, name: '4 of 20', bad: SILENT, behaviour: 'silent' })
  const ratio = ((silent.windows[0]?.p99Ms ?? 0) / (none.windows[0]?.p99Ms ?? 0)).toFixed(2)
  return `${EXPLAINED}\n\n${markdownTable(
    ['', 'in time', 'p50 ms', 'p99 ms', 'ratio of p99', "deliverer's us of CPU per call"],
    [row('none in trouble', none, ''), row('**4 never answering**', silent, `**${ratio}**`), PEER],
  )}`
}

const EXPLAINED = `${ENDPOINTS} webhooks get ${PER_SECOND.toLocaleString('en-US')} calls a second for a minute, at a fixed rate. From the first call on, ${SILENT} of them never answer. The
processes have just started. Figures are those of the ${ENDPOINTS - SILENT} healthy ones (of all ${ENDPOINTS} where none is in trouble), measured as in
\`isolation\`; "in time": of all calls due in the minute, those that had arrived at its end, or ${GRACE_US / 1_000} ms later. The peer was
measured in the same way, with the load, its stores and the receiver on two cores.`

function row(name: string, { windows, delivererUs }: ScenarioResult, ratio: string): string[] {
  const [{ due, inTime, p50Ms, p99Ms } = { due: 0, inTime: 0, p50Ms: Number.NaN, p99Ms: Number.NaN }] =
    windows
  const share = `${((inTime / due) * 100).toFixed(1)} %`
  return [name, share, p50Ms.toFixed(1), p99Ms.toFixed(1), ratio, delivererUs.toFixed(0)]
}
