import { readFile } from 'node:fs/promises'
import { dataFolder } from '../local/data-folder.ts'
import { findRunning, type Running } from '../local/running.ts'
import { CliError, type Env } from './context.ts'

/** URLs have no trailing slash. */
export type Target = {
  control: string
  token: string
  /** Undefined unless set or local: control does not know these addresses. */
  ingest: string | undefined
  brokers: string | undefined
  registry: string | undefined
}

export type Known = {
  url: string | undefined
  ingestUrl: string | undefined
  brokers: string | undefined
  registry: string | undefined
  token: string | undefined
  /** This checkout's running `npm start`. */
  local: Running | undefined
}

/** @throws CliError no_address, no_token */
export function chooseTarget({ url, ingestUrl, brokers, registry, token, local }: Known): Target {
  const ingest = ingestUrl === undefined ? undefined : addressOf(ingestUrl)
  if (url === undefined && local)
    return { ...local, token: token ?? local.token, ingest: ingest ?? local.ingest }
  if (url === undefined) throw new CliError('no_address', NO_ADDRESS)
  const control = addressOf(url)
  // the local token must not go elsewhere
  if (token === undefined) throw new CliError('no_token', `No token for ${url}: ${GIVE_TOKEN}`)
  return { control, token, ingest, brokers, registry }
}

/** Without trailing slashes. Accepts no password, because errors quote addresses. @throws CliError no_address */
export function addressOf(url: string): string {
  if (url.includes('@'))
    throw new CliError(
      'no_address',
      'An address must not contain @, as in a user name or password: remove the part before it',
    )
  if (/^https?:$/.test(URL.parse(url)?.protocol ?? '')) return url.replace(/\/+$/, '')
  throw new CliError('no_address', `"${url}" is not an address: it must begin with http:// or https://`)
}

const GIVE_TOKEN = 'set CONTROL_TOKEN, or pass a file that contains it with --token-file'
const NO_ADDRESS = `No address. No npm start of this checkout is running (if its data folder is not .sluice, set SLUICE_DATA).
For another system, set SLUICE_URL or --url to the address of control, and ${GIVE_TOKEN}.`

/** The system named by the command line, the environment or a running `npm start`. @throws CliError */
export async function findTarget(
  options: { url?: string; tokenFile?: string; ingestUrl?: string },
  env: Env,
): Promise<Target> {
  const url = options.url ?? (env.SLUICE_URL || undefined)
  return chooseTarget({
    url,
    ingestUrl: options.ingestUrl ?? (env.SLUICE_INGEST_URL || undefined),
    brokers: env.KAFKA_BROKERS || undefined,
    registry: env.SCHEMA_REGISTRY_URL || undefined,
    token: options.tokenFile ? await tokenIn(options.tokenFile) : tokenOf(env),
    local: url === undefined ? await findRunning(dataFolder(env)) : undefined,
  })
}

async function tokenIn(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: Error) => {
    throw new CliError('cannot_read', `Cannot read the token file: ${cause.message}`, { cause })
  })
  return checked(text, `${file} does not contain a token`)
}

const tokenOf = ({ CONTROL_TOKEN }: Env): string | undefined =>
  CONTROL_TOKEN ? checked(CONTROL_TOKEN, 'CONTROL_TOKEN is not a token') : undefined

/** A header carries the token. */
function checked(text: string, fault: string): string {
  const token = text.trim()
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw new CliError(
    'no_token',
    `${fault}: it must be one line of printable ASCII characters, without spaces`,
  )
}
