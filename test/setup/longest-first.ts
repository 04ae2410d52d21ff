import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Those that take longest, the longest first: begun last, one of them would keep all others waiting while a core has nothing to do. */
const LONG = [
  'flow/outage',
  'console/browser/console.settings',
  'flow/quiet',
  'flow/shared',
  'console/browser/console.monitoring',
  'flow/control.lag',
  'console/browser/console.destinations',
  'flow/kafka.consume',
  'flow/unwritable',
  'flow/cli',
  'flow/control.schemathesis',
  'flow/control.tasks',
  'clients/go',
  'flow/kafka.log-loss',
  'flow/cluster',
  'flow/deliverer.crash',
  'flow/clients',
  'local/broker',
  'local/start',
]

/** On a machine without times of an earlier run the largest files would be first. What needs no Kafka fills up the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other))
  }
}

function rank({ moduleId, project }: TestSpecification): number {
  if (project.name === 'pure') return LONG.length + 1
  const place = LONG.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
  return place === -1 ? LONG.length : place
}
