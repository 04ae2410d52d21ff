import { dirname, join } from 'node:path'
import { DERIVED_ROLES, derivedKeys, parseConfigKey } from '../../../settings/config-key.ts'
import { unreadableSettings } from '../../api/status.ts'
import { CliError, type ExitCode } from '../../context.ts'
import { asYaml, type Exported, exported, quoted, SCHEMA_FILE } from '../../settings/export.ts'
import { type NewFile, writeNew } from '../../settings/files.ts'
import { COLLECTIONS, jsonSchema } from '../../settings/schema.ts'
import { readState } from '../../settings/state.ts'
import { plain } from '../../table.ts'
import { action, type Cli, type Invocation } from '../command.ts'

type Options = { output?: string; writeKeys?: true; force?: true; json?: true }

export function addExport({ program, ...cli }: Cli): void {
  program
    .command('export')
    .summary('export the settings as files')
    .description(
      `Prints the settings in the format that diff and apply read. Applied to the same system, they change nothing.

Secrets are exported as "***", which keeps the stored secret. Another system has no such secret, and apply reports that before \
it changes anything. Suppressions contain the ids of users. Those of a removed source are left out.`,
    )
    .option(
      '-o, --output <path>',
      'a .yaml or .yml file, or a folder: one file per kind; both with the schema',
    )
    .option('--write-keys', 'export write keys unmasked')
    .option('--force', 'overwrite existing files')
    .option('--json', 'print JSON, which can be applied too')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice export -o settings/
  $ sluice export > all.yaml
  $ sluice export | SLUICE_URL=http://other:8081 CONTROL_TOKEN=... sluice diff -`,
    )
    .action(action<Options>(cli, exportSettings))
}

async function exportSettings({ options, control, out, err }: Invocation<Options>): Promise<ExitCode> {
  const { output, force = false, writeKeys = false, json } = options
  const api = await control()
  const [state, unreadable] = await Promise.all([readState(api), unreadableSettings(api)])
  for (const { message, isKept } of unreadable)
    err.line(`${plain(message)} ${isKept ? 'That version is exported.' : 'It is not exported.'}`)
  const settings = exported(state, { writeKeys })
  if (output === undefined) {
    out.line(json ? JSON.stringify(quoted(settings), undefined, 2) : asYaml(settings).trimEnd())
    return 0
  }
  const files = filesFor(settings, output)
  await writeNew(files, { force })
  for (const { path } of files) err.line(`wrote ${path}`)
  return 0
}

function filesFor(settings: Exported, output: string): NewFile[] {
  const isFile = /\.ya?ml$/.test(output)
  const folder = isFile ? dirname(output) : output
  const files = isFile
    ? [{ path: output, text: asYaml(settings) }]
    : COLLECTIONS.map((each) => ({ path: join(folder, `${each}.yaml`), text: asYaml(settings, [each]) }))
  const schema = `${JSON.stringify(jsonSchema(), undefined, 2)}\n`
  return [...files, { path: join(folder, SCHEMA_FILE), text: schema, isGenerated: true }]
}

export function addSchema({ program, ...cli }: Cli): void {
  program
    .command('schema')
    .summary('print the JSON Schema of settings files')
    .description('Prints the JSON Schema (draft 7) with which editors check and complete settings files.')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice schema > settings/sluice.schema.json
  and as the first line of a file in the same folder:
  # yaml-language-server: $schema=./sluice.schema.json`,
    )
    .action(
      action(cli, async ({ out }) => {
        out.line(JSON.stringify(jsonSchema(), undefined, 2))
        return 0
      }),
    )
}

export function addKeys({ program, ...cli }: Cli): void {
  program
    .command('keys')
    .summary('derive restricted keys for ingest, router and deliverer from CONFIG_KEY')
    .description(
      `Reads CONFIG_KEY from the environment and prints the values to set as CONFIG_KEY for ingest, router and deliverer instead. With \
its derived key, ingest can decrypt only write keys of sources, the deliverer only secrets of destinations, and the router only \
their hash keys. control needs CONFIG_KEY itself. Sends nothing to any system.`,
    )
    .addHelpText(
      'after',
      `
Examples:
  $ CONFIG_KEY=$(cat config.key) sluice keys`,
    )
    .action(action<object>(cli, printKeys))
}

async function printKeys({ env, out }: Invocation<object>): Promise<ExitCode> {
  const texts = (env.CONFIG_KEY ?? '').split(',').map((text) => text.trim())
  const wholes = texts.map((text) => {
    const key = parseConfigKey(text)
    if (key && 'whole' in key) return key.whole
    throw new CliError('usage', 'Set CONFIG_KEY to the key that control uses: 32 bytes in base64.')
  })
  for (const role of DERIVED_ROLES)
    out.line(`${role}: CONFIG_KEY=${wholes.map((whole) => derivedKeys(role, whole)).join(',')}`)
  return 0
}
