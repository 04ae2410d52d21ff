import type { Command } from 'commander'
import { MASK } from '../../control/mask.ts'
import { CliFault } from '../fault.ts'
import type { Output } from '../output.ts'
import { faulty } from '../settings/apply.ts'
import { type Declaration, declare } from '../settings/declare.ts'
import type { Change } from '../settings/difference.ts'
import type { Ref } from '../settings/form.ts'
import { type Planned, planNow } from '../settings/plan-now.ts'
import { readFiles } from '../settings/read-files.ts'
import { hide, isFilledIn } from '../settings/variables.ts'
import type { ExitCode } from '../world.ts'
import type { Doing } from './command.ts'

/** What `diff` and `apply` have in common. */
export type Drafting = { prune?: true }

export const filesOption = (command: Command): Command =>
  command
    .argument('<files...>', 'YAML files, folders of them, - for standard input')
    .option('--prune', 'remove what the files do not have')
    .option('--json', 'as one JSON document')

export const FILES = `
A file has lists of records under sources, destinations, audiences and traits, each with its id and the fields of the API; what
a record does not name is as if it had never been set, but for a write key, which stays. Several documents, files and folders
count as one. \${NAME} in a text is a variable of the environment, whose value is not printed; $\${ is \${ itself.
Variables of Sluice itself, like CONTROL_TOKEN, are refused.

--prune looks only at those of the four that the files have a list of; [] is a list, of none.

Secrets and the values of webhooks' headers are compared by the API, which says only whether they differ; a token that may only
read cannot have it do that. "***" keeps what is stored.`

export type Draft = {
  declaration: Declaration
  /** Reads the settings that there are, and decides. @throws CliFault faulty_files */
  planNow(isDone?: (ref: Ref) => boolean): Promise<Planned>
}

/** Does something with files. What variables have filled in there is printed nowhere. @throws CliFault cannot_read, faulty_files */
export async function withFiles<O extends Drafting>(
  asked: Doing<O>,
  act: (asked: Doing<O>, draft: Draft) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { args, env, readInput } = asked
  const { filledIn, ...declared } = declare(await readFiles(args, { readInput }), env)
  const hidden = (text: string) => hide(text, filledIn)
  const hiding = (output: Output): Output => ({ ...output, line: (text) => output.line(hidden(text)) })
  try {
    if ('faults' in declared) throw faulty(declared.faults)
    const draft = { declaration: declared, planNow: planner(asked, declared, filledIn) }
    return await act({ ...asked, out: hiding(asked.out), err: hiding(asked.err) }, draft)
  } catch (error) {
    throw error instanceof CliFault ? new CliFault(error.code, hidden(error.message)) : error
  }
}

function planner(
  { options, now, control }: Doing<Drafting>,
  declaration: Declaration,
  filledIn: ReadonlySet<string>,
): Draft['planNow'] {
  return async (isDone = () => false) => {
    const planned = await planNow(declaration, await control(), {
      prune: options.prune ?? false,
      isDone,
      now: new Date(now()).toISOString(),
    })
    if ('faults' in planned) throw faulty(planned.faults)
    const steps = planned.steps.map((step) => ({
      ...step,
      changes: step.changes.map((change) => masked(change, filledIn)),
    }))
    return { ...planned, steps }
  }
}

/** What a field had before a variable filled it in may be the secret of yesterday. */
function masked(change: Change, filledIn: ReadonlySet<string>): Change {
  if (!isFilledIn(change.after, filledIn)) return change
  return { ...change, ...('before' in change && { before: MASK }), after: MASK }
}
