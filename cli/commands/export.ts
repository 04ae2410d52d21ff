import { dirname, join } from 'node:path'
import { asYaml, type Exported, exported, quoted, SCHEMA_FILE } from '../settings/export.ts'
import { COLLECTIONS, jsonSchema } from '../settings/form.ts'
import { readState } from '../settings/state.ts'
import { type NewFile, writeNew } from '../settings/write-files.ts'
import type { ExitCode } from '../world.ts'
import { type Adding, type Doing, doing } from './command.ts'

type Options = { output?: string; writeKeys?: true; force?: true; json?: true }

export function addExport({ program, ...adding }: Adding): void {
  program
    .command('export')
    .summary('the settings as files')
    .description(
      `Prints the settings in the form that diff and apply read. Applied where they come from, they change nothing.

Secrets are exported as "***", which keeps the one that is stored: in another system there is none, and apply says so before it
changes anything. Suppressed users are not exported.`,
    )
    .option(
      '-o, --output <path>',
      'a file ending with .yaml or .yml, or a folder: a file for each kind, and the schema',
    )
    .option('--write-keys', 'with write keys as they are')
    .option('--force', 'over files that are there')
    .option('--json', 'as JSON, which can be applied as well')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice export -o settings/
  $ sluice export > all.yaml
  $ sluice export | SLUICE_URL=http://other:8081 CONTROL_TOKEN=... sluice diff -`,
    )
    .action(doing<Options>(adding, act))
}

async function act({ options, control, out, err }: Doing<Options>): Promise<ExitCode> {
  const { output, force = false, writeKeys = false, json } = options
  const settings = exported(await readState(await control()), { writeKeys })
  if (output === undefined) {
    out.line(json ? JSON.stringify(quoted(settings), undefined, 2) : asYaml(settings).trimEnd())
    return 0
  }
  const files = filesFor(settings, output)
  await writeNew(files, { force })
  for (const { path } of files) err.line(`wrote ${path}`)
  return 0
}

/** One file, or a folder with a file for each kind; beside them the schema that they name. */
function filesFor(settings: Exported, output: string): NewFile[] {
  const isFile = /\.ya?ml$/.test(output)
  const folder = isFile ? dirname(output) : output
  const files = isFile
    ? [{ path: output, text: asYaml(settings) }]
    : COLLECTIONS.map((each) => ({ path: join(folder, `${each}.yaml`), text: asYaml(settings, [each]) }))
  const schema = `${JSON.stringify(jsonSchema(), undefined, 2)}\n`
  return [...files, { path: join(folder, SCHEMA_FILE), text: schema, isMade: true }]
}
