import type { Output, Style } from '../output.ts'
import { plain } from '../table.ts'
import type { Change } from './difference.ts'
import { nameOf } from './form.ts'
import type { Step } from './plan.ts'
import type { Planned } from './plan-now.ts'

const SIGNS: Readonly<Record<Step['action'], readonly [string, Style]>> = {
  create: ['+', 'green'],
  replace: ['~', 'yellow'],
  remove: ['-', 'red'],
}

/** Says what a plan would change, for people. */
export function showPlan({ steps, others, hidden }: Planned, out: Pick<Output, 'line' | 'styled'>): void {
  for (const step of steps) {
    const [sign, style] = SIGNS[step.action]
    out.line(out.styled(style, `${sign} ${nameOf(step)}`))
    for (const change of step.changes) out.line(`    ${shownChange(change, step.action)}`)
  }
  if (steps.length === 0) out.line('Nothing differs.')
  if (hidden.length > 0) {
    out.line(out.styled('dim', 'Secrets that a token that may only read cannot compare:'))
    for (const ref of hidden) out.line(out.styled('dim', `    ${nameOf(ref)} ${ref.fields.join(', ')}`))
  }
  if (others.length > 0) {
    out.line(out.styled('dim', 'In no file, and left alone (--prune removes them):'))
    for (const ref of others) out.line(out.styled('dim', `    ${nameOf(ref)}`))
  }
}

/** What a plan would change, for programs. */
export const planAsJson = ({ steps, others, hidden }: Planned): object => ({
  changes: steps.map(({ collection, id, action, changes }) => ({ collection, id, action, fields: changes })),
  hidden,
  others,
})

function shownChange({ field: name, before, after }: Change, action: Step['action']): string {
  const field = plain(name)
  if (action === 'create') return `${field}: ${shown(after)}`
  if (action === 'remove') return `${field}: ${shown(before)}`
  return `${field}: ${shown(before)} -> ${shown(after)}`
}

/** As JSON. What an operator did not write may hold what a terminal would obey, also in the name of a label. */
const shown = (value: unknown) => (value === undefined ? '(none)' : plain(JSON.stringify(value)))
