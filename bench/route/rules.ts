import { render } from '../../delivery/render.ts'
import { markdownTable } from '../../harness/results.ts'
import { compileRules } from '../../rules/compile.ts'
import type { Filter, Rules } from '../../rules/rules.ts'
import type { Event } from '../../schemas/event.ts'
import { median, spread, verdict } from '../figures/summary.ts'
import { events } from '../load/calls.ts'

/** Until V8 has compiled the code. */
const WARM = 20_000
const EVENTS = 20_000
const ROUNDS = 15

/** None of these holds, so an `any` evaluates all of them. */
const names: Filter[] = Array.from({ length: 10 }, (_, index) => ({ path: 'event', eq: `Other ${index}` }))
const totals: Filter[] = Array.from({ length: 10 }, (_, index) => ({
  path: 'properties.total',
  gt: 1_000 + index,
}))

const shape = {
  id: '{{messageId}}',
  time: '{{timestamp | unix}}',
  text: '{{event}} of {{properties.total}} {{properties.currency}} by {{userId | default: anonymousId}}',
  data: { properties: '{{properties}}', context: '{{context}}' },
}

const cases = {
  'no rules: the body alone': undefined,
  'one condition on the event name': { filter: { any: names.slice(0, 1) } },
  'ten conditions on the event name': { filter: { any: names } },
  'one condition on a property': { filter: { any: totals.slice(0, 1) } },
  'ten conditions on a property': { filter: { any: totals } },
  'a regular expression that is found': {
    filter: { not: { path: 'event', matches: '^Order (Completed|Paid)$' } },
  },
  'a sample of no user': { sample: { rate: 0 } },
  'one hash, and the body': { redact: [{ path: 'userId', as: 'hash' }] },
  'a shape of 1 KB': { shape },
} as const satisfies Record<string, Rules | undefined>

type Name = keyof typeof cases

/** CPU time per event in microseconds, and the goals. */
export function rulesSection(): string {
  const all = events()
  const runs = Object.entries(cases).map(([name, rules]) => ({
    name,
    run: runOf(rules),
    figures: [] as number[],
  }))
  for (const { run } of runs) measure(run, all, WARM)
  for (let round = 0; round < ROUNDS; round++)
    for (const { run, figures } of runs) figures.push(measure(run, all, EVENTS))
  const of = (name: Name) => median(runs.find((each) => each.name === name)?.figures ?? [])
  const perCondition = (one: Name, ten: Name) => (of(ten) - of(one)) / 9
  const rows = runs.map(({ name, figures }) => [name, spread(figures)])
  return `Rules of one destination on these events, in one process without Kafka: the median of ${ROUNDS} alternating rounds, with
the lowest and the highest. Conditions on a property include parsing the properties once.

${markdownTable(['rules', 'us of CPU per event'], rows)}

${verdict([
  {
    what: 'us per condition on the name',
    is: perCondition('one condition on the event name', 'ten conditions on the event name'),
    atMost: 1,
  },
  {
    what: 'us per condition on a property',
    is: perCondition('one condition on a property', 'ten conditions on a property'),
    atMost: 1,
  },
  { what: 'us per shape', is: of('a shape of 1 KB'), atMost: 10 },
])}`
}

type Run = (event: Event) => unknown

function runOf(rules: Rules | undefined): Run {
  return rules ? compileRules(rules, Buffer.alloc(32), render).run : render
}

function measure(run: Run, all: readonly Event[], count: number): number {
  let results = 0
  const before = process.cpuUsage()
  for (let index = 0; index < count; index++) if (run(all[index % all.length] as Event)) results++
  const { user, system } = process.cpuUsage(before)
  return (user + system) / results
}
