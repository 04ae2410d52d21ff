import { readFile } from 'node:fs/promises'
import { dataFolder } from '../../local/data-folder.ts'
import { findRunning } from '../../local/running.ts'
import { CliFault } from '../fault.ts'
import type { Env } from '../world.ts'
import { chooseTarget, type Target } from './target.ts'

/** The system that the command line, the environment or a running `npm start` names. What is set but empty counts as not set. @throws CliFault */
export async function findTarget(
  options: { url?: string; tokenFile?: string; ingestUrl?: string },
  env: Env,
): Promise<Target> {
  const url = options.url ?? (env.SLUICE_URL || undefined)
  return chooseTarget({
    url,
    ingestUrl: options.ingestUrl ?? (env.SLUICE_INGEST_URL || undefined),
    token: options.tokenFile ? await tokenIn(options.tokenFile) : env.CONTROL_TOKEN || undefined,
    local: url === undefined ? await findRunning(dataFolder(env)) : undefined,
  })
}

async function tokenIn(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: Error) => {
    throw new CliFault('cannot_read', `The token's file cannot be read: ${cause.message}`, { cause })
  })
  const token = text.trim()
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw new CliFault('no_token', `${file} holds no token: one line of printable characters is needed`)
}
