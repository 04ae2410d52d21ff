import { apply } from '../settings/apply.ts'
import { nameOf, type Ref } from '../settings/form.ts'
import type { Step } from '../settings/plan.ts'
import type { Planned } from '../settings/plan-now.ts'
import { planAsJson, showPlan } from '../settings/show.ts'
import type { ExitCode } from '../world.ts'
import { type Adding, type Doing, doing } from './command.ts'
import { type Draft, type Drafting, FILES, filesOption, withFiles } from './draft.ts'

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
