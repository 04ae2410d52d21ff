import type { Env } from '../world.ts'

export type Substituted = { text: string; faults: readonly { code: string; message: string }[] }

const PART = /\$\$\{|\$\{([^}]*)(\}?)/g
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * `${NAME}` becomes what the environment has under that name, `$${` becomes `${`. What is put in is not looked at again. A
 * variable that is set but empty counts as not set: as a secret it would be none.
 */
export function substitute(text: string, env: Env): Substituted {
  const faults: { code: string; message: string }[] = []
  const whole = text.replaceAll(PART, (found: string, name: string | undefined, end: string) => {
    if (name === undefined) return '${'
    // what the environment has by nature, like toString, nobody has set
    const value = NAME.test(name) && Object.hasOwn(env, name) ? env[name] : undefined
    if (end && value) return value
    faults.push(
      end && NAME.test(name)
        ? { code: 'variable_missing', message: `the variable ${name} is not set in the environment` }
        : {
            code: 'invalid_variable',
            message: `"${found}" names no variable: write \${NAME}, or $\${ for \${`,
          },
    )
    return found
  })
  return { text: whole, faults }
}

/** The text that substitutes to this one. */
export const literally = (text: string): string => text.replaceAll('${', () => '$${')
