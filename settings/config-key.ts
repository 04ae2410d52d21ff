import { type ConfigKeys, deriveKey, type Purpose } from './seal.ts'

export const ROLES = ['ingest', 'router', 'deliverer', 'control'] as const
export type Role = (typeof ROLES)[number]

/** Each role's keys, in the order of `sluice keys`: add new purposes at the end. */
const NEEDS = {
  ingest: ['records', 'sources'],
  router: ['records', 'hashKeys'],
  deliverer: ['records', 'destinations'],
  control: ['records', 'sources', 'destinations', 'sessions', 'hashKeys', 'backups'],
} as const satisfies Record<Role, readonly Purpose[]>

/** How many keys `sluice keys` printed before hash keys existed. They open fewer settings. */
const BEFORE = { ingest: 2, router: 1, deliverer: 2 } as const

/** Roles that work without CONFIG_KEY itself. */
export const DERIVED_ROLES = ['ingest', 'router', 'deliverer'] as const

/** CONFIG_KEY itself, or a role's derived keys in the order of its needs. */
export type ConfigKey = { whole: Buffer } | { role: Role; derived: readonly Buffer[] }

const BYTES = 32

/** @returns undefined unless `text` is 32 bytes in base64 or a role's keys as `derivedKeys` prints them. */
export function parseConfigKey(text: string): ConfigKey | undefined {
  const [name, ...parts] = text.split('.')
  const role = DERIVED_ROLES.find((each) => each === name)
  if (!role) {
    const whole = Buffer.from(text, 'base64')
    return whole.length === BYTES ? { whole } : undefined
  }
  const derived = parts.map((part) => Buffer.from(part, 'base64url'))
  const { length } = derived
  const fits =
    length <= NEEDS[role].length && length >= BEFORE[role] && derived.every((key) => key.length === BYTES)
  return fits ? { role, derived } : undefined
}

export function derivedKeys(role: (typeof DERIVED_ROLES)[number], configKey: Buffer): string {
  return [role, ...NEEDS[role].map((purpose) => deriveKey(configKey, purpose).toString('base64url'))].join(
    '.',
  )
}

/** @param takesUnsigned accept settings from before signatures (UNSIGNED_SETTINGS). */
export function keysFor(role: Role, keys: readonly ConfigKey[], takesUnsigned: boolean): ConfigKeys {
  const needs: readonly Purpose[] = NEEDS[role]
  const of = (purpose: Purpose) =>
    keys.flatMap((key) =>
      'whole' in key ? deriveKey(key.whole, purpose) : (key.derived[needs.indexOf(purpose)] ?? []),
    )
  const { records = [], ...secrets } = Object.fromEntries(needs.map((purpose) => [purpose, of(purpose)]))
  const before = keys.flatMap((key) => ('whole' in key ? key.whole : []))
  return { ...secrets, records, before: takesUnsigned ? before : [], takesUnsigned }
}
