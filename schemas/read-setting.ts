import { ConfigError } from '../config.ts'
import { type Keys, mapSecrets, unseal } from './seal.ts'
import {
  type Kind,
  storedComputation,
  storedDestination,
  storedSource,
  storedSuppression,
} from './settings.ts'
import type { Setting } from './settings-index.ts'

const shapes = {
  source: storedSource,
  destination: storedDestination,
  suppression: storedSuppression,
  audience: storedComputation,
  trait: storedComputation,
}

/** @returns undefined for other kinds than these. @throws when the record cannot be read; ConfigError when no key opens it. */
export function readSetting(
  key: string,
  value: Buffer,
  { keys, kinds }: { keys: Keys; kinds: readonly Kind[] },
): Setting | undefined {
  const kind = kinds.find((each) => key.startsWith(`${each}/`))
  if (!kind) return undefined
  const sealed = JSON.parse(value.toString())
  // nothing is secret in a suppression, of which there may be very many
  const opened = kind === 'suppression' ? sealed : unsealed(sealed, { keys, owner: key })
  const parsed = shapes[kind].safeParse(opened)
  if (!parsed.success) throw new Error(`setting ${key} has not its shape: ${parsed.error.message}`)
  // the shape is that of its kind, which the compiler cannot see
  return { kind, value: parsed.data } as Setting
}

function unsealed(record: object, { keys, owner }: { keys: Keys; owner: string }): object {
  return mapSecrets(record, (sealed) => {
    const text = unseal(sealed, { keys, owner })
    if (text === undefined)
      throw new ConfigError([
        `CONFIG_KEY: does not open the secrets of ${owner}: set the key that sealed them, too`,
      ])
    return text
  })
}
