import { createReadStream } from 'node:fs'
import { access, constants, readFile, stat } from 'node:fs/promises'
import { Argument, Option } from 'commander'
import { z } from 'zod'
import { messageOf } from '../../../process/thrown.ts'
import { parseBody } from '../../api/client.ts'
import { transfer } from '../../api/transfer.ts'
import { CliError, type ExitCode } from '../../context.ts'
import { plain } from '../../table.ts'
import { action, type Cli, type Invocation } from '../command.ts'

type Options = {
  format?: Format
  dryRun?: true
  skipInvalid?: true
  allowRemovals?: true
  allowEmpty?: true
  json?: true
}

const TYPES = { lines: 'text/plain', ndjson: 'application/x-ndjson', csv: 'text/csv' } as const
type Format = keyof typeof TYPES

const KINDS = { audience: 'members', trait: 'values' } as const
type Kind = keyof typeof KINDS

const previewShape = z.looseObject({
  lines: z.number(),
  changed: z.number(),
  removed: z.number(),
  unchanged: z.number(),
  suppressed: z.number(),
  current: z.number(),
  invalid: z.number(),
  invalidLines: z.array(z.object({ line: z.number(), code: z.string(), message: z.string() })),
  confirm: z.enum(['allowEmpty', 'allowRemovals']).nullable(),
})
type Preview = z.infer<typeof previewShape>

const syncShape = z.looseObject({
  state: z.string(),
  changed: z.number().optional(),
  removed: z.number().optional(),
  unchanged: z.number().optional(),
  cause: z.looseObject({ message: z.string() }).optional(),
})

export function addUpload({ program, ...cli }: Cli): void {
  program
    .command('upload')
    .addArgument(new Argument('<kind>', 'what to upload to').choices(Object.keys(KINDS)))
    .argument('<id>', 'id of the audience or trait')
    .argument('<file>', 'the file; - reads standard input')
    .summary('upload the members of an audience, or the values of a trait')
    .description(
      `Shows what the upload would change, then sends it. Unless you allow it, an upload is refused if a line cannot be used, if it \
would remove more than a tenth of the members or values, or if it lists no members.`,
    )
    .addOption(
      new Option(
        '--format <format>',
        'default: by the file name (.csv, .tsv, .ndjson, .jsonl), otherwise lines',
      ).choices(Object.keys(TYPES)),
    )
    .option('--dry-run', 'show what the upload would change, and send nothing')
    .option('--skip-invalid', 'leave out lines that cannot be used')
    .option('--allow-removals', 'allow the upload to remove more than a tenth')
    .option('--allow-empty', 'allow an upload without users, which removes all members')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Formats:
  lines   one user id per line; commas and semicolons are part of it; for an audience only
  ndjson  one user id as a JSON string, or {"userId": "u1"}, per line; for a trait {"userId": "u1", "value": 42}
  csv     the first line names the columns: userId, and value for a trait;
          commas, semicolons or tabs separate the fields

Examples:
  $ sluice upload audience vip members.csv
  $ sluice upload audience vip members.txt --dry-run
  $ sluice upload trait orders values.ndjson --skip-invalid`,
    )
    .action(action<Options>(cli, act))
}

async function act(invocation: Invocation<Options>): Promise<ExitCode> {
  const { options, out } = invocation
  const send = await sender(invocation)
  const shown = await send({ ...options, dryRun: true }, previewShape)
  if (!options.json) for (const line of described(shown)) out.line(line)
  if (options.dryRun) {
    if (options.json) out.line(JSON.stringify(shown))
    return 0
  }
  const obstacle = obstacleTo(shown, options)
  if (obstacle) throw new CliError('refused', `${obstacle} Nothing has changed.`)
  const sync = await send(options, syncShape)
  if (options.json) out.line(JSON.stringify(sync))
  else out.line(sync.state === 'done' ? 'Done.' : unfinished(sync))
  return sync.state === 'done' || sync.state === 'accepted' ? 0 : 1
}

function unfinished({ state, cause }: z.infer<typeof syncShape>): string {
  const what = state === 'failed' ? 'The sync failed' : `The sync is ${plain(state)}`
  return `${what}${cause ? `: ${plain(cause.message)}` : '.'}`
}

function described({ changed, removed, unchanged, suppressed, current, ...found }: Preview): string[] {
  const [adds, removes, stays, before] = [changed, removed, unchanged, current].map(written)
  return [
    `Adds or changes ${adds}, removes ${removes} of ${before}, leaves ${stays} unchanged.`,
    ...(suppressed > 0 ? [`Sends nothing for ${written(suppressed)} suppressed users.`] : []),
    ...(found.invalid > 0
      ? [`${written(found.invalid)} ${found.invalid === 1 ? 'line' : 'lines'} cannot be used:`]
      : []),
    ...found.invalidLines.map(({ line, message, code }) => `  line ${line} ${plain(message)} (${code})`),
    ...(found.invalid > found.invalidLines.length ? ['  ...'] : []),
  ]
}

const written = (count: number) => count.toLocaleString('en-US')

function obstacleTo({ invalid, confirm }: Preview, options: Options): string | undefined {
  if (invalid > 0 && !options.skipInvalid)
    return 'Some lines cannot be used: correct them, or leave them out with --skip-invalid.'
  if (confirm === 'allowEmpty' && !options.allowEmpty)
    return 'The upload lists no users, which would remove all members: use --allow-empty if that is what you want.'
  const isMany = confirm === 'allowRemovals' && !options.allowRemovals
  return isMany
    ? 'It would remove more than a tenth: use --allow-removals if that is what you want.'
    : undefined
}

type Flags = Pick<Options, 'dryRun' | 'skipInvalid' | 'allowRemovals' | 'allowEmpty'>

/** Sends the file; may be called again. */
async function sender({ args, options, target, readInput }: Invocation<Options>) {
  const [kind = 'audience', id = '', file = ''] = args as [Kind, string, string] // commander checks the kind
  const { control, token } = await target()
  const input = file === '-' ? await readInput() : await contentOfPipe(file)
  const path = `${kind}s/${encodeURIComponent(id)}/${KINDS[kind]}`
  const type = TYPES[options.format ?? formatOf(file)]

  return async <T>(flags: Flags, shape: z.ZodType<T>): Promise<T> => {
    const names = ['dryRun', 'skipInvalid', 'allowRemovals', 'allowEmpty'] as const
    // a trait's upload may be empty
    const given = names.filter((name) => flags[name] && !(kind === 'trait' && name === 'allowEmpty'))
    const query = Object.fromEntries(given.map((name) => [name, 'true']))
    const body = input ?? createReadStream(file)
    const answer = await transfer({ control, token }, { method: 'PUT', path, query, body, type })
    return parseBody(answer, { path }, shape)
  }
}

/** Undefined for a file, which is streamed. A pipe, as in bash's `<(...)`, can be read only once. */
async function contentOfPipe(file: string): Promise<Buffer | undefined> {
  try {
    await access(file, constants.R_OK)
    return (await stat(file)).isFile() ? undefined : await readFile(file)
  } catch (cause) {
    throw new CliError('cannot_read', `Cannot read ${file}: ${messageOf(cause)}`, { cause })
  }
}

function formatOf(file: string): Format {
  if (/\.[ct]sv$/i.test(file)) return 'csv'
  return /\.(ndjson|jsonl)$/i.test(file) ? 'ndjson' : 'lines'
}
