import { jsonSchema } from '../settings/form.ts'
import { type Adding, doing } from './command.ts'

export function addSchema({ program, ...adding }: Adding): void {
  program
    .command('schema')
    .summary('the JSON Schema of settings files')
    .description('Prints the JSON Schema (draft 7) by which editors check and complete settings files.')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice schema > settings/sluice.schema.json
  with this as the first line of a file beside it:
  # yaml-language-server: $schema=./sluice.schema.json`,
    )
    .action(
      doing(adding, async ({ out }) => {
        out.line(JSON.stringify(jsonSchema(), undefined, 2))
        return 0
      }),
    )
}
