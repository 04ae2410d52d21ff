import { SETTINGS } from '../../config.ts'

/** Finds secrets that Sluice was given in the output of its processes, in any encoding that it knows. */
export type Planted = {
  /** Takes the secrets out of the settings of a process. */
  settings(env: Readonly<Record<string, string | undefined>>): void
  /** Takes the secrets out of a body for the control API. */
  given(body: unknown): void
  heard(text: string): void
  /** Another test file of the same worker begins. */
  forget(): void
  /** The outputs that contain a secret. */
  leaks: readonly string[]
}

/** Names of settings with secrets. `FILE`: those that name a file, whose path is not secret. */
const SETTING = /TOKEN|KEY|PASSWORD|SECRET/
const FILE = /^KAFKA_SSL_/
const FIELDS = new Set(['sharedSecret', 'previousSecret', 'writeKey', 'previousWriteKey', 'token'])
/** Shorter ones occur in any text. */
const LEAST = 6

export function createPlanted(): Planted {
  const written = new Set<string>()
  const leaks: string[] = []

  function add(secret: unknown): void {
    if (typeof secret !== 'string' || secret.length < LEAST || secret === '***') return
    for (const form of formsOf(secret)) written.add(form)
  }

  function given(body: unknown): void {
    if (typeof body !== 'object' || body === null) return
    for (const [name, value] of Object.entries(body)) {
      if (FIELDS.has(name)) add(value)
      if (name === 'headers') for (const each of Object.values(Object(value))) add(each)
      given(value)
    }
  }

  return {
    settings(env) {
      for (const name of SETTINGS) for (const secret of secretsOf(name, env[name] ?? '')) add(secret)
    },
    given,
    heard(text) {
      if (written.values().some((form) => text.includes(form))) leaks.push(text)
    },
    forget() {
      written.clear()
      leaks.length = 0
    },
    leaks,
  }
}

/** Plain, as the user name of basic auth, and as in base64, URLs and JSON. */
const formsOf = (secret: string): string[] => [
  secret,
  base64(secret),
  base64(`${secret}:`),
  encodeURIComponent(secret),
  JSON.stringify(secret).slice(1, -1),
]
const base64 = (text: string) => Buffer.from(text).toString('base64')

function secretsOf(name: string, value: string): string[] {
  // OpenTelemetry's: name=value, name=value
  if (name.endsWith('_HEADERS'))
    return value.split(',').map((part) => decodeURIComponent(part.slice(part.indexOf('=') + 1)))
  if (name === 'CONFIG_KEY') return value.split(',').map((key) => key.trim())
  if (SETTING.test(name) && !FILE.test(name)) return [value]
  if (!URL.canParse(value)) return []
  const { username, password } = new URL(value)
  return password ? [decodeURIComponent(password), base64(`${username}:${password}`)] : []
}

/** For this test file, which fails at its end if a secret was printed (no-leaks.ts). */
export const planted = createPlanted()
