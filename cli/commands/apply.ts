import type { Command } from 'commander'
import { MASK } from '../../settings/mask.ts'
import { apply, faulty } from '../settings/apply.ts'
import { type Declaration, declare } from '../settings/declare.ts'
import { readFiles } from '../settings/files.ts'
import { type Change, nameOf, type Ref } from '../settings/form.ts'
import { planAsJson, type Step, showPlan } from '../settings/plan.ts'
import { type Planned, planNow } from '../settings/plan-now.ts'
import { hide, isFilledIn } from '../settings/variables.ts'
import { CliFault, type ExitCode, type Output } from '../world.ts'
import { type Adding, type Doing, doing } from './command.ts'

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

type DiffOptions = Drafting & { json?: true }

export function addDiff({ program, ...adding }: Adding): void {
  filesOption(program.command('diff').summary('what applying files would change'))
    .description(
      `Prints what applying files would change, field by field, with secrets masked.
The exit code is 0 when nothing differs, 2 when something does, 1 when it cannot be told.`,
    )
    .addHelpText('after', FILES)
    .addHelpText(
      'after',
      `
Examples:
  $ sluice diff settings/
  $ sluice diff --prune settings/sources.yaml settings/crm.yaml
  $ sluice diff --json settings/ | jq '.changes[] | .id'`,
    )
    .action(doing<DiffOptions>(adding, (asked) => withFiles(asked, diff)))
}

async function diff(asked: Doing<DiffOptions>, { planNow }: Draft): Promise<ExitCode> {
  const planned = await planNow()
  if (asked.options.json) asked.out.line(JSON.stringify(planAsJson(planned)))
  else showPlan(planned, asked.out)
  return planned.steps.length > 0 ? 2 : 0
}

type Options = Drafting & { dryRun?: true; json?: true }

export function addApply({ program, ...adding }: Adding): void {
  filesOption(program.command('apply').summary('change the settings to what files say'))
    .description(
      `Changes the settings to what files say, after printing the difference. Faults in the files are told all at once, before
anything is changed.`,
    )
    .option('--dry-run', 'print the difference alone')
    .addHelpText('after', FILES)
    .addHelpText(
      'after',
      `
Examples:
  $ sluice apply settings/
  $ CRM_SECRET=s3cret sluice apply settings/crm.yaml
  $ sluice apply --prune --dry-run settings/`,
    )
    .action(doing<Options>(adding, (asked) => withFiles(asked, act)))
}

async function act(asked: Doing<Options>, { declaration, planNow }: Draft): Promise<ExitCode> {
  const { options, out } = asked
  const first = await planNow()
  const made: Step[] = []
  if (!options.json) showPlan(first, out)
  const onDone = (step: Step) => {
    made.push(step)
    if (!options.json) out.line(`${DONE[step.action]} ${nameOf(step)}`)
  }
  const again = async (isDone: (ref: Ref) => boolean): Promise<Planned> => {
    asked.err.line('Somebody else has changed settings meanwhile: read again, and decided anew.')
    const next = await planNow(isDone)
    if (!options.json) showPlan(next, out)
    return next
  }
  const { length: all } = first.steps
  try {
    if (!options.dryRun && all > 0)
      await apply(first, { ask: await asked.control(), declaration, again, onDone })
  } finally {
    if (options.json)
      out.line(
        JSON.stringify({
          ...planAsJson(first),
          applied: made.map(({ collection, id }) => ({ collection, id })),
        }),
      )
    else if (all > 0)
      out.line(options.dryRun ? 'A dry run: nothing was changed.' : `${made.length} of ${all} changes made.`)
  }
  return 0
}

const DONE: Readonly<Record<Step['action'], string>> = {
  create: 'created',
  replace: 'replaced',
  remove: 'removed',
}
