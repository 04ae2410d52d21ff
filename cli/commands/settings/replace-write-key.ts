import { randomBytes } from 'node:crypto'
import { Option } from 'commander'
import { z } from 'zod'
import { request } from '../../api/client.ts'
import { CliError, type ExitCode } from '../../context.ts'
import { action, type Cli, duration, type Invocation, print } from '../command.ts'

type Options = { overlap: number; force?: true; json?: true }

const shape = z.looseObject({
  version: z.number(),
  writeKey: z.string(),
  previousWriteKeyExpiresAt: z.string().optional(),
})

const DAY_MS = 24 * 3_600_000

export function addReplaceWriteKey({ program, ...cli }: Cli): void {
  program
    .command('replace-write-key')
    .argument('<source>', 'id of the source')
    .summary('give a source a new write key, without losing calls')
    .description(
      `Makes a new write key and prints it. Until the overlap ends, the current key works as well. Then it ends by itself, and calls \
with it are rejected.`,
    )
    .addOption(
      new Option('--overlap <time>', 'how long the current key still works: 2h, 7d; 0 ends it now')
        .argParser(duration)
        .default(DAY_MS, '24h'),
    )
    .option('--force', 'replace it even if the key before the current one still works; that key ends at once')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice replace-write-key shop
  $ sluice replace-write-key shop --overlap 7d
  $ sluice replace-write-key leaked --overlap 0`,
    )
    .action(action<Options>(cli, act))
}

async function act(invocation: Invocation<Options>): Promise<ExitCode> {
  const { options, control, now } = invocation
  const [id = ''] = invocation.args
  const api = await control()
  const path = `sources/${encodeURIComponent(id)}`
  const { version, ...source } = await request(api, { path }, shape)
  const { previousWriteKey: _, previousWriteKeyExpiresAt: before, ...rest } = source
  if (before !== undefined && Date.parse(before) > now() && !options.force) {
    const message = `The key before the current one works until ${before}, and a replacement would end it at once. Wait until then, or use --force.`
    throw new CliError('refused', message)
  }
  const writeKey = randomBytes(24).toString('base64url')
  const until = new Date(now() + options.overlap).toISOString()
  const json = { ...rest, writeKey, ...(options.overlap > 0 && { previousWriteKeyExpiresAt: until }) }
  const replaced = await request(api, { method: 'PUT', path, json, ifMatch: version }, shape)
  const { previousWriteKeyExpiresAt: ends } = replaced
  return print(invocation, replaced, [
    `new write key of ${id}: ${replaced.writeKey}`,
    ends === undefined ? 'The previous key has ended.' : `The previous key works until ${ends}.`,
  ])
}
