import type { Command } from 'commander'
import { MASK } from '../../../settings/mask.ts'
import { CliError, type ExitCode, type Output } from '../../context.ts'
import { apply, faulty } from '../../settings/apply.ts'
import { allFaults, type Declaration, declare } from '../../settings/declare.ts'
import type { Change } from '../../settings/difference.ts'
import { readFiles } from '../../settings/files.ts'
import type { LocatedFault } from '../../settings/location.ts'
import { type Planned, planAsJson, planNow, type Step, showPlan } from '../../settings/plan.ts'
import { nameOf, type Ref } from '../../settings/schema.ts'
import { hide, isFilledIn } from '../../settings/variables.ts'
import { action, type Cli, type Invocation } from '../command.ts'

type Drafting = { prune?: true }

const filesOption = (command: Command): Command =>
  command
    .argument('<files...>', 'YAML files, folders of YAML files, or - for standard input')
    .option('--prune', 'also remove records that are not in the files')
    .option('--json', 'print one JSON document')

const FILES = `
A file contains lists of records under the keys sources, destinations, audiences, traits and suppressions. A record has an id
and the fields of the API (a suppression has no id). A field that is left out is unset, except a source's write keys and a
destination's hashKey: these stay. Several documents, files and folders are read as one. \${NAME} in a text stands for an
environment variable, whose value is never printed; write $\${ for a literal \${. Variables of Sluice itself, such as
CONTROL_TOKEN, are refused.

--prune affects only kinds of records that the files list; the empty list [] counts.

The API compares secrets and header values of webhooks, and returns only whether they differ. It does not do this for a read-only
token. "***" keeps the stored secret.`

type Draft = {
  declaration: Declaration
  /** Plans from the current settings. @throws CliError faulty_files */
  planNow(isDone?: (ref: Ref) => boolean): Promise<Planned>
}

/**
 * Reads the files and calls `act`, hiding the values of variables in all output. Reports all faults together.
 * @throws CliError cannot_read, faulty_files
 */
async function withFiles<O extends Drafting>(
  invocation: Invocation<O>,
  act: (invocation: Invocation<O>, draft: Draft) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { args, env, readInput } = invocation
  const { filledIn, faults, ...declaration } = declare(await readFiles(args, { readInput }), env)
  const hidden = (text: string) => hide(text, filledIn)
  const hiding = (output: Output): Output => ({ ...output, line: (text) => output.line(hidden(text)) })
  try {
    if (faults.length > 0) throw await allOf(faults, invocation, declaration)
    const draft = { declaration, planNow: planner(invocation, declaration, filledIn) }
    return await act({ ...invocation, out: hiding(invocation.out), err: hiding(invocation.err) }, draft)
  } catch (error) {
    throw error instanceof CliError ? new CliError(error.code, hidden(error.message)) : error
  }
}

/** Adds the faults that only control can find, if it answers. */
async function allOf(
  local: readonly LocatedFault[],
  { now, control }: Invocation<Drafting>,
  declaration: Declaration,
): Promise<CliError> {
  try {
    const options = { prune: false, now: new Date(now()).toISOString() }
    const planned = await planNow(declaration, await control(), options)
    return faulty(allFaults(local, 'faults' in planned ? planned.faults : []))
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    const found = faulty(local)
    const [why] = error.message.split('\n')
    return new CliError(
      found.code,
      `${found.message}\nControl may find more faults. It could not check: ${why}`,
    )
  }
}

function planner(
  { options, now, control }: Invocation<Drafting>,
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

/** Also masks the old value: it may be the previous secret. */
function masked(change: Change, filledIn: ReadonlySet<string>): Change {
  if (!isFilledIn(change.after, filledIn)) return change
  return { ...change, ...('before' in change && { before: MASK }), after: MASK }
}

type DiffOptions = Drafting & { json?: true }

export function addDiff({ program, ...cli }: Cli): void {
  filesOption(program.command('diff').summary('show what applying files would change'))
    .description(
      `Prints what applying the files would change, field by field, with secrets masked. \
The exit code is 0 if nothing differs, 2 if something differs, 1 on failure.`,
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
    .action(action<DiffOptions>(cli, (invocation) => withFiles(invocation, diff)))
}

async function diff(invocation: Invocation<DiffOptions>, { planNow }: Draft): Promise<ExitCode> {
  const planned = await planNow()
  if (invocation.options.json) invocation.out.line(JSON.stringify(planAsJson(planned)))
  else showPlan(planned, invocation.out)
  return planned.steps.length > 0 ? 2 : 0
}

type Options = Drafting & { dryRun?: true; json?: true }

export function addApply({ program, ...cli }: Cli): void {
  filesOption(program.command('apply').summary('change the settings to match files'))
    .description(
      `Prints the differences, then changes the settings to match the files. If the files have faults, it reports all of them and \
changes nothing.`,
    )
    .option('--dry-run', 'only print the differences')
    .addHelpText('after', FILES)
    .addHelpText(
      'after',
      `
Examples:
  $ sluice apply settings/
  $ CRM_SECRET=s3cret sluice apply settings/crm.yaml
  $ sluice apply --prune --dry-run settings/`,
    )
    .action(action<Options>(cli, (invocation) => withFiles(invocation, act)))
}

async function act(invocation: Invocation<Options>, { declaration, planNow }: Draft): Promise<ExitCode> {
  const { options, out } = invocation
  const first = await planNow()
  const done: Step[] = []
  if (!options.json) showPlan(first, out)
  const onDone = (step: Step) => {
    done.push(step)
    if (!options.json) out.line(`${DONE[step.action]} ${nameOf(step)}`)
  }
  const replan = async (isDone: (ref: Ref) => boolean): Promise<Planned> => {
    invocation.err.line('Someone else has changed settings in the meantime; planning again.')
    const next = await planNow(isDone)
    if (!options.json) showPlan(next, out)
    return next
  }
  const { length: all } = first.steps
  try {
    if (!options.dryRun && all > 0)
      await apply(first, { api: await invocation.control(), declaration, replan, onDone })
  } finally {
    if (options.json)
      out.line(
        JSON.stringify({
          ...planAsJson(first),
          applied: done.map(({ collection, id }) => ({ collection, id })),
        }),
      )
    else if (all > 0)
      out.line(options.dryRun ? 'Dry run: nothing was changed.' : `${done.length} of ${all} changes made.`)
  }
  return 0
}

const DONE: Readonly<Record<Step['action'], string>> = {
  create: 'created',
  replace: 'replaced',
  remove: 'removed',
}
