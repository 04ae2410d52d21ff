import { type Api, type ApiRequest, type ApiResponse, problemOf, refused } from '../api/client.ts'
import { CliError } from '../context.ts'
import type { Declaration } from './declare.ts'
import { type LocatedFault, shownFault } from './location.ts'
import type { Planned, Step } from './plan.ts'
import { nameOf, type Ref } from './schema.ts'

export type Applying = {
  api: Api
  declaration: Declaration
  /** Plans the remaining records from the current settings. @throws CliError */
  replan: (isDone: (ref: Ref) => boolean) => Promise<Planned>
  onDone: (step: Step) => void
}

/** Plans again once if someone else has changed a record. @throws CliError */
export async function apply({ steps }: Pick<Planned, 'steps'>, applying: Applying): Promise<void> {
  const done = new Set<string>()
  const isDone = (ref: Ref) => done.has(nameOf(ref))
  const stale = await applySteps(steps, done, applying)
  if (!stale) return
  const { steps: left } = await applying.replan(isDone)
  const twice = await applySteps(left, done, applying)
  if (!twice) return
  const message = `Someone else is changing ${nameOf(twice)}. Stopped; run the command again.`
  throw new CliError('changed_meanwhile', message)
}

/** @returns the first step that no longer matches the current settings, if any */
async function applySteps(
  steps: readonly Step[],
  done: Set<string>,
  { api, declaration, onDone }: Applying,
): Promise<Step | undefined> {
  for (const step of steps) {
    const answer = await api(requestOf(step))
    if (isStale(step, answer)) return step
    if (answer.status >= 300) throw refusal(answer, step, declaration)
    done.add(nameOf(step))
    onDone(step)
  }
  return undefined
}

function requestOf(step: Step): ApiRequest {
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

function isStale({ action }: Step, answer: ApiResponse): boolean {
  if (action === 'create')
    return answer.status === 409 && ['id_taken', 'already_suppressed'].includes(problemOf(answer).code)
  return answer.status === 412 || answer.status === 404
}

function refusal(answer: ApiResponse, step: Step, { records }: Declaration): CliError {
  const declared = records.find((record) => nameOf(record) === nameOf(step))
  const { errors, code, message } = problemOf(answer)
  if (!declared || errors.length === 0) return refused(answer)
  const lines = errors.map((fault) => shownFault(declared.located(fault)))
  return new CliError('refused', `Refused: ${message} (${answer.status} ${code})\n${lines.join('\n')}`)
}

export function faulty(faults: readonly LocatedFault[]): CliError {
  const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`
  return new CliError('faulty_files', `${faults.map(shownFault).join('\n')}\n${count}. Nothing was changed.`)
}
