import { planAsJson, showPlan } from '../settings/show.ts'
import type { ExitCode } from '../world.ts'
import { type Adding, type Doing, doing } from './command.ts'
import { type Draft, type Drafting, FILES, filesOption, withFiles } from './draft.ts'

type Options = Drafting & { json?: true }

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
    .action(doing<Options>(adding, (asked) => withFiles(asked, act)))
}

async function act(asked: Doing<Options>, { planNow }: Draft): Promise<ExitCode> {
  const planned = await planNow()
  if (asked.options.json) asked.out.line(JSON.stringify(planAsJson(planned)))
  else showPlan(planned, asked.out)
  return planned.steps.length > 0 ? 2 : 0
}
