import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { parseBody } from '../../api/client.ts'
import { parsed, transfer } from '../../api/transfer.ts'
import { CliError, type ExitCode } from '../../context.ts'
import { cannotWrite, refuseExisting } from '../../settings/files.ts'
import { plain, table } from '../../table.ts'
import { action, type Cli, type Invocation } from '../command.ts'

type Options = { output?: string; force?: true }

const NOT_IN_IT =
  'Not in a backup: events, deliveries in flight, dead letters, attempts, replays, and what was last uploaded to audiences and traits. CONFIG_KEY is not in it either: without that key, the backup is useless.'

/** Hundreds of thousands of suppressions take seconds. */
const LIMIT_MS = 10 * 60_000

export function addBackup({ program, ...cli }: Cli): void {
  program
    .command('backup')
    .summary('save all settings, with sealed secrets, in one file')
    .description(
      `Saves sources with their write keys, destinations with their secrets, audiences, traits, suppressed users and deletions. Secrets \
stay sealed under CONFIG_KEY, and the file is signed. It contains the ids of suppressed users, so protect it.

${NOT_IN_IT}

The exit code is 2 if a setting could not be read and is missing.`,
    )
    .option('-o, --output <file>', 'the file (default: standard output); it appears only when it is complete')
    .option('--force', 'overwrite an existing file')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice backup -o sluice-2026-01-02.backup
  $ sluice backup -o /backups/sluice.backup --force   # from cron
  $ sluice backup | age -r age1... > sluice.backup.age`,
    )
    .action(action<Options>(cli, backup))
}

const MAYBE_TOO_LARGE =
  'There is no new backup. If the download broke off, the backup may have more than 256 MB, which no restore accepts. See the log of control.'

const headShape = z.looseObject({
  counts: z.record(z.string(), z.number()),
  missing: z.array(z.string()),
})

async function backup({ options, target, out, err }: Invocation<Options>): Promise<ExitCode> {
  const { output, force } = options
  if (output !== undefined && !force) await refuseExisting(output)
  const { text } = await transfer(await target(), { method: 'GET', path: 'backup', limitMs: LIMIT_MS }).catch(
    (error: unknown) => {
      if (!(error instanceof CliError) || error.code !== 'unreachable') throw error
      throw new CliError(error.code, `${error.message}\n${MAYBE_TOO_LARGE}`, { cause: error })
    },
  )
  const { counts, missing } = headOf(text)
  if (output === undefined) out.line(text.trimEnd())
  else await writeWhole(output, text)
  const found = Object.entries(counts).map(([kind, count]) => `${kind}s ${count}`)
  err.line(`${output === undefined ? 'In the backup' : `Wrote ${output}`}: ${found.join(', ')}.`)
  err.line(NOT_IN_IT)
  for (const key of missing)
    err.line(`Missing: control cannot read ${plain(key)}. sluice status says what to do.`)
  return missing.length > 0 ? 2 : 0
}

/** @throws CliError unknown_answer if it is incomplete */
function headOf(text: string): z.infer<typeof headShape> {
  const head = headShape.safeParse(parsed(text.slice(0, text.indexOf('\n'))))
  if (head.success && /\nend [\w-]+\n$/.test(text.slice(-100))) return head.data
  throw new CliError('unknown_answer', 'control sent no complete backup: try again')
}

/** Keeps the previous backup if this one breaks off or the machine loses power. */
async function writeWhole(path: string, text: string): Promise<void> {
  const partial = `${path}.partial`
  try {
    await writeFile(partial, text, { mode: 0o600, flush: true })
    await rename(partial, path)
  } catch (cause) {
    await rm(partial, { force: true }).catch(() => undefined)
    throw cannotWrite(path, cause)
  }
}

type RestoreOptions = { dryRun?: true; force?: true; json?: true }

const reportShape = z.looseObject({
  madeAt: z.string(),
  needsForce: z.boolean(),
  counts: z.record(
    z.string(),
    z.object({ created: z.number(), replaced: z.number(), unchanged: z.number(), kept: z.number() }),
  ),
  changes: z.array(z.object({ setting: z.string(), action: z.string() })),
  missing: z.array(z.string()),
})
type Report = z.infer<typeof reportShape>

export function addRestore({ program, ...cli }: Cli): void {
  program
    .command('restore')
    .argument('<file>', 'a file that sluice backup made; - reads standard input')
    .summary('restore a backup')
    .description(
      `Shows what the backup would change, then restores it. It removes nothing. If it breaks off, run it again: it continues. Control \
needs the CONFIG_KEY under which the backup was made, alone or after a new one (CONFIG_KEY=new,old).

A system that has other settings is refused, unless you use --force.`,
    )
    .option('--dry-run', 'show what the restore would change, and change nothing')
    .option('--force', 'replace settings that differ from the backup, and keep those that are not in it')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice restore sluice-2026-01-02.backup --dry-run
  $ sluice restore sluice-2026-01-02.backup`,
    )
    .action(action<RestoreOptions>(cli, restore))
}

async function restore(invocation: Invocation<RestoreOptions>): Promise<ExitCode> {
  const { options, out, err } = invocation
  const send = await sender(invocation)
  const planned = await send({ dryRun: 'true' })
  if (!options.json) for (const line of described(planned, options)) out.line(line)
  if (options.dryRun) {
    out.line(options.json ? JSON.stringify(planned) : 'Dry run: nothing was changed.')
    return 0
  }
  if (planned.needsForce && !options.force) throw new CliError('refused', NEEDS_FORCE)
  const done = await send(options.force ? { force: 'true' } : {}).catch((error: unknown) => {
    if (!(error instanceof CliError) || error.code !== 'unreachable') throw error
    throw new CliError(error.code, `${error.message}\n${CONTINUES}`, { cause: error })
  })
  if (options.json) out.line(JSON.stringify(done))
  else out.line('Restored.')
  err.line(NOT_IN_IT)
  return 0
}

const CONTINUES = 'The restore broke off. Run it again: it continues where it stopped.'

const NEEDS_FORCE = `The system is not empty. --force replaces the settings that differ, and keeps those that are not in the backup.
Nothing was changed.`

const SHOWN = 20

function described(
  { madeAt, counts, changes, missing, needsForce }: Report,
  { force }: Pick<RestoreOptions, 'force'>,
): string[] {
  const heads = ['kind', 'create', 'replace', 'unchanged', 'keep']
  const rows = Object.entries(counts).map(([kind, of]) => [
    kind,
    ...[of.created, of.replaced, of.unchanged, of.kept],
  ])
  const differing = changes.filter(({ action }) => action !== 'create')
  return [
    `Backup of ${plain(madeAt)}.`,
    ...table(heads, rows),
    ...differing.slice(0, SHOWN).map(({ setting, action }) => `  ${plain(action)} ${plain(setting)}`),
    ...(differing.length > SHOWN ? ['  ...'] : []),
    ...missing.map((key) => `Missing in the backup, because control could not read it: ${plain(key)}`),
    ...(needsForce && !force ? ['The system is not empty, so this needs --force.'] : []),
  ]
}

async function sender({ args: [file = ''], target, readInput }: Invocation<RestoreOptions>) {
  const to = await target()
  const body = file === '-' ? await readInput() : await contentOf(file)
  const sent = { method: 'POST', path: 'restore', body, type: 'text/plain', limitMs: LIMIT_MS } as const
  return async (query: Record<string, string>): Promise<Report> =>
    parseBody(await transfer(to, { ...sent, query }), sent, reportShape)
}

async function contentOf(file: string): Promise<Buffer> {
  return readFile(file).catch((cause: Error) => {
    throw new CliError('cannot_read', `Cannot read ${file}: ${cause.message}`, { cause })
  })
}
