import { SETTINGS } from '../../config.ts'
import { MASK } from '../../settings/mask.ts'
import type { Env } from '../context.ts'

/** `filledIn`: values of variables now in the text. */
export type Substituted = {
  text: string
  filledIn: readonly string[]
  faults: readonly { code: string; message: string }[]
}

const PART = /\$\$\{|\$\{([^}]*)(\}?)/g
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * Replaces `${NAME}` with the environment variable, once, and `$${` with `${`. Refuses Sluice's own variables, such as
 * CONTROL_TOKEN: a changed file could send them to a webhook.
 */
export function substitute(text: string, env: Env): Substituted {
  const faults: { code: string; message: string }[] = []
  const filledIn: string[] = []
  const replaced = text.replaceAll(PART, (found: string, name: string | undefined, end: string) => {
    if (name === undefined) return '${'
    const fault = faultOf(found, name, end)
    // inherited properties such as toString do not count
    const value = fault || !Object.hasOwn(env, name) ? undefined : env[name]
    if (value) {
      filledIn.push(value)
      return value
    }
    faults.push(
      fault ?? { code: 'variable_missing', message: `the variable ${name} is not set in the environment` },
    )
    return found
  })
  return { text: replaced, filledIn, faults }
}

function faultOf(found: string, name: string, end: string): { code: string; message: string } | undefined {
  if (!end || !NAME.test(name))
    return {
      code: 'invalid_variable',
      // without an end, the rest may be a secret
      message: `"${end ? found : '${'}" is not a variable: write \${NAME}, or $\${ for a literal \${`,
    }
  if (SETTINGS.includes(name) || name.startsWith('SLUICE_'))
    return {
      code: 'reserved_variable',
      message: `${name} is a variable of Sluice itself and cannot be used in settings: choose another name`,
    }
  return undefined
}

/** The inverse of `substitute`. */
export const literally = (text: string): string => text.replaceAll('${', () => '$${')

/** Shorter values occur by chance. */
const MIN_HIDDEN_LENGTH = 4

/** Masks values of variables, raw or JSON-escaped. */
export function hide(text: string, filledIn: Iterable<string>): string {
  let hidden = text
  for (const value of filledIn)
    if (value.length >= MIN_HIDDEN_LENGTH)
      for (const form of [JSON.stringify(value).slice(1, -1), value])
        hidden = hidden.replaceAll(form, () => MASK)
  return hidden
}

export function isFilledIn(value: unknown, filledIn: ReadonlySet<string>): boolean {
  if (Array.isArray(value)) return value.some((each) => isFilledIn(each, filledIn))
  if (typeof value !== 'string') return false
  return filledIn.has(value) || hide(value, filledIn) !== value
}
