import { dirname, join } from 'node:path'
import { DERIVED_ROLES, derivedKeys, parseConfigKey } from '../../settings/config-key.ts'
import { asYaml, type Exported, exported, quoted, SCHEMA_FILE } from '../settings/export.ts'
import { type NewFile, writeNew } from '../settings/files.ts'
import { COLLECTIONS, jsonSchema } from '../settings/form.ts'
import { readState } from '../settings/state.ts'
import { CliFault, type ExitCode } from '../world.ts'
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
    .action(doing<Options>(adding, exportSettings))
}

async function exportSettings({ options, control, out, err }: Doing<Options>): Promise<ExitCode> {
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

export function addKeys({ program, ...adding }: Adding): void {
  program
    .command('keys')
    .summary('derive from CONFIG_KEY a smaller key for ingest, router and deliverer')
    .description(
      `Reads CONFIG_KEY from the environment and prints what to set as CONFIG_KEY for ingest, router and deliverer instead. With its
derived key, ingest can open sources' write keys only, the deliverer destinations' secrets only, and the router no secret at all.
control needs CONFIG_KEY itself. Nothing is sent anywhere.`,
    )
    .addHelpText(
      'after',
      `
Examples:
  $ CONFIG_KEY=$(cat config.key) sluice keys`,
    )
    .action(doing<object>(adding, printKeys))
}

async function printKeys({ env, out }: Doing<object>): Promise<ExitCode> {
  const texts = (env.CONFIG_KEY ?? '').split(',').map((text) => text.trim())
  const wholes = texts.map((text) => {
    const key = parseConfigKey(text)
    if (key && 'whole' in key) return key.whole
    throw new CliFault('usage', 'Set CONFIG_KEY to the key that control has: 32 bytes in base64.')
  })
  for (const role of DERIVED_ROLES)
    out.line(`${role}: CONFIG_KEY=${wholes.map((whole) => derivedKeys(role, whole)).join(',')}`)
  return 0
}
