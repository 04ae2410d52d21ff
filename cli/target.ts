import { readFile } from 'node:fs/promises'
import { dataFolder } from '../local/data-folder.ts'
import { findRunning } from '../local/running.ts'
import { CliFault, type Env } from './world.ts'

/** Where a running system is reached, and with what. URLs without a slash at their end. */
export type Target = {
  control: string
  token: string
  /** Undefined: only who knows it can say so. */
  ingest: string | undefined
}

export type Known = {
  /** `--url`, and what is in the environment. */
  url: string | undefined
  ingestUrl: string | undefined
  token: string | undefined
  /** The `npm start` of this checkout, if it runs. */
  local: { control: string; ingest: string; token: string } | undefined
}

/** Decides which system is meant. @throws CliFault no_address, no_token */
export function chooseTarget({ url, ingestUrl, token, local }: Known): Target {
  if (url === undefined && local)
    return { control: local.control, token: token ?? local.token, ingest: trimmed(ingestUrl) ?? local.ingest }
  if (url === undefined) throw new CliFault('no_address', NO_ADDRESS)
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    throw new CliFault('no_address', `"${url}" is no address: give one beginning with http:// or https://`)
  // the token of the local system is for nobody else's eyes
  if (token === undefined) throw new CliFault('no_token', `No token for ${url}: ${GIVE_TOKEN}`)
  return { control: trimmed(url) ?? url, token, ingest: trimmed(ingestUrl) }
}

const GIVE_TOKEN = 'set CONTROL_TOKEN, or name a file that holds it with --token-file'
const NO_ADDRESS = `Which system? No npm start of this checkout runs here (SLUICE_DATA names its data folder, if it has another than .sluice),
and no other is named: set SLUICE_URL or --url to control's address, and ${GIVE_TOKEN}.`

const trimmed = (url: string | undefined) => url?.replace(/\/+$/, '')

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
