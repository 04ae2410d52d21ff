import { type Answer, type Ask, type Asked, problemOf, refused } from '../api/ask.ts'
import { CliFault } from '../world.ts'
import type { Declaration } from './declare.ts'
import { nameOf, type Ref } from './form.ts'
import { type PlacedFault, shownFault } from './place.ts'
import type { Step } from './plan.ts'
import type { Planned } from './plan-now.ts'

export type Applying = {
  ask: Ask
  declaration: Declaration
  /** Decides anew on what is there now, without what is done. @throws CliFault */
  again: (isDone: (ref: Ref) => boolean) => Promise<Planned>
  onDone: (step: Step) => void
}

/** Makes the steps of a plan one after the other. What somebody else has changed meanwhile is decided anew, once. @throws CliFault */
export async function apply({ steps }: Pick<Planned, 'steps'>, applying: Applying): Promise<void> {
  const done = new Set<string>()
  const isDone = (ref: Ref) => done.has(nameOf(ref))
  const stale = await make(steps, done, applying)
  if (!stale) return
  const { steps: left } = await applying.again(isDone)
  const twice = await make(left, done, applying)
  if (!twice) return
  const message = `${nameOf(twice)} is being changed by somebody else: nothing more is done here. Run it again.`
  throw new CliFault('changed_meanwhile', message)
}

/** @returns the first step that no longer fits what is there, undefined when all are made. */
async function make(
  steps: readonly Step[],
  done: Set<string>,
  { ask, declaration, onDone }: Applying,
): Promise<Step | undefined> {
  for (const step of steps) {
    const answer = await ask(requestOf(step))
    if (isStale(step, answer)) return step
    if (answer.status >= 300) throw refusal(answer, step, declaration)
    done.add(nameOf(step))
    onDone(step)
  }
  return undefined
}

function requestOf(step: Step): Asked {
  const { collection, id } = step
  switch (step.action) {
    case 'create':
      return { method: 'POST', path: collection, json: step.body }
    case 'replace':
      return { method: 'PUT', path: `${collection}/${id}`, json: step.body, ifMatch: step.version }
    case 'remove':
      return { method: 'DELETE', path: `${collection}/${id}`, ifMatch: step.version }
  }
}

/** Another version of it is there, or none, or one where there was none. */
function isStale({ action }: Step, answer: Answer): boolean {
  if (action === 'create') return answer.status === 409 && problemOf(answer).code === 'id_taken'
  return answer.status === 412 || answer.status === 404
}

/** With each fault's place in the files, where it has one. */
function refusal(answer: Answer, step: Step, { records }: Declaration): CliFault {
  const declared = records.find((record) => nameOf(record) === nameOf(step))
  const { errors, code, message } = problemOf(answer)
  if (!declared || errors.length === 0) return refused(answer)
  const lines = errors.map((fault) => shownFault(declared.placed(fault)))
  return new CliFault('refused', `Refused: ${message} (${answer.status} ${code})\n${lines.join('\n')}`)
}

/** All that is wrong with the files, a line each. */
export function faulty(faults: readonly PlacedFault[]): CliFault {
  const count = faults.length === 1 ? 'One thing is' : `${faults.length} things are`
  return new CliFault(
    'faulty_files',
    `${faults.map(shownFault).join('\n')}\n${count} wrong: nothing is changed.`,
  )
}
