import { SETTINGS } from '../../config.ts'
import { MASK } from '../../settings/mask.ts'
import type { Env } from '../world.ts'

/** `filledIn`: the values of variables that are in the text now. */
export type Substituted = {
  text: string
  filledIn: readonly string[]
  faults: readonly { code: string; message: string }[]
}

const PART = /\$\$\{|\$\{([^}]*)(\}?)/g
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * `${NAME}` becomes what the environment has under that name, `$${` becomes `${`. What is put in is not looked at again. A
 * variable that is set but empty counts as not set: as a secret it would be none. Variables of Sluice itself, like CONTROL_TOKEN, are refused:
 * no setting needs them, and whoever may change a file would have them sent to a webhook.
 */
export function substitute(text: string, env: Env): Substituted {
  const faults: { code: string; message: string }[] = []
  const filledIn: string[] = []
  const whole = text.replaceAll(PART, (found: string, name: string | undefined, end: string) => {
    if (name === undefined) return '${'
    const fault = faultOf(found, name, end)
    // what the environment has by nature, like toString, nobody has set
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
  return { text: whole, filledIn, faults }
}

function faultOf(found: string, name: string, end: string): { code: string; message: string } | undefined {
  if (!end || !NAME.test(name))
    return {
      code: 'invalid_variable',
      message: `"${found}" names no variable: write \${NAME}, or $\${ for \${`,
    }
  if (SETTINGS.includes(name) || name.startsWith('SLUICE_'))
    return {
      code: 'reserved_variable',
      message: `${name} is a variable of Sluice itself, which no setting may have: use one of another name`,
    }
  return undefined
}

/** The text that substitutes to this one. */
export const literally = (text: string): string => text.replaceAll('${', () => '$${')

/** Shorter ones are in many texts by chance. */
const TELLING = 4

/** The text without what variables have filled in, be it as it is or as JSON has it. */
export function hide(text: string, filledIn: Iterable<string>): string {
  let hidden = text
  for (const value of filledIn)
    if (value.length >= TELLING)
      for (const form of [JSON.stringify(value).slice(1, -1), value])
        hidden = hidden.replaceAll(form, () => MASK)
  return hidden
}

/** Whether a setting has something of what variables have filled in. */
export function isFilledIn(value: unknown, filledIn: ReadonlySet<string>): boolean {
  if (Array.isArray(value)) return value.some((each) => isFilledIn(each, filledIn))
  if (typeof value !== 'string') return false
  return filledIn.has(value) || hide(value, filledIn) !== value
}
