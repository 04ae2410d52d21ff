/** Secrets that Sluice is given, and what its processes say: none of the ones may be in the others. */
export type Planted = {
  /** Takes the secrets out of a body for the control API. */
  given(body: unknown): void
  heard(line: string): void
  /** Lines that held one. */
  leaks: readonly string[]
}

const SETTING = /TOKEN|KEY|PASSWORD|SECRET/
const FIELDS = new Set(['sharedSecret', 'writeKey', 'token'])
/** Shorter ones are in any text. */
const LEAST = 8

/** @param env the settings that the processes get. */
export function plant(env: Readonly<Record<string, string>>): Planted {
  const secrets = new Set<string>()
  const leaks: string[] = []
  const add = (value: unknown) => {
    if (typeof value === 'string' && value.length >= LEAST) secrets.add(value)
  }
  for (const [name, value] of Object.entries(env)) if (SETTING.test(name)) add(value)

  function given(body: unknown): void {
    if (typeof body !== 'object' || body === null) return
    for (const [name, value] of Object.entries(body)) {
      if (FIELDS.has(name)) add(value)
      if (name === 'headers') for (const each of Object.values(Object(value))) add(each)
      given(value)
    }
  }

  return {
    given,
    heard(line) {
      for (const secret of secrets) if (line.includes(secret)) leaks.push(line)
    },
    leaks,
  }
}
