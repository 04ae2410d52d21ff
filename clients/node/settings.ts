import { inspect } from 'node:util'
import { fault } from './errors.ts'
import { isObject, kindOf } from './fields.ts'
import { CALL_BYTES } from './limits.ts'
import type { Options } from './options.ts'
import type { Agents } from './post.ts'
import type { OnFailure } from './report.ts'

export type Settings = ReturnType<typeof readSettings>

const MAX_MS = 2 ** 31 - 1
const MAX = Number.MAX_SAFE_INTEGER

const NUMBERS = {
  flushAt: { default: 20, min: 1, max: MAX },
  flushAfter: { default: 5_000, min: 1, max: MAX_MS },
  maxQueue: { default: 20_000, min: 1, max: MAX },
  maxQueueBytes: { default: 32 * 1024 * 1024, min: CALL_BYTES, max: MAX },
  maxRetries: { default: 25, min: 0, max: MAX },
  retryBase: { default: 100, min: 1, max: MAX_MS },
  requestTimeout: { default: 15_000, min: 1, max: MAX_MS },
  closeTimeout: { default: 30_000, min: 0, max: MAX_MS },
} as const

const ALIASES = [
  ['size', 'flushAt'],
  ['interval', 'flushAfter'],
] as const

/** A test compares them with the README. */
export const OPTIONS = [
  'writeKey',
  'endpoint',
  ...Object.keys(NUMBERS),
  ...ALIASES.map(([alias]) => alias),
  'gzip',
  'agent',
  'disable',
  'closeOnSigterm',
  'onFailure',
]

/** @throws AnalyticsError for the first invalid option */
export function readSettings(given: Options) {
  // not shown: it may be the write key
  if (!isObject(given))
    throw fault(
      'invalid_option',
      `The options must be an object such as { writeKey: '...' }, not ${kindOf(given)}.`,
    )
  const unknown = Object.keys(given).find((name) => !OPTIONS.includes(name))
  if (unknown !== undefined)
    throw fault('invalid_option', `Unknown option ${unknown}. The options are ${OPTIONS.join(', ')}.`)
  const options = withoutAliases(given)
  const maxQueue = numberOf(options, 'maxQueue')
  return {
    writeKey: writeKeyOf(options.writeKey),
    endpoint: endpointOf(options.endpoint),
    // a full queue must not wait for more calls
    flushAt: Math.min(numberOf(options, 'flushAt'), maxQueue),
    flushAfter: numberOf(options, 'flushAfter'),
    maxQueue,
    maxQueueBytes: numberOf(options, 'maxQueueBytes'),
    maxRetries: numberOf(options, 'maxRetries'),
    retryBase: numberOf(options, 'retryBase'),
    requestTimeout: numberOf(options, 'requestTimeout'),
    closeTimeout: numberOf(options, 'closeTimeout'),
    gzip: booleanOf(options, 'gzip', true),
    agent: agentOf(options.agent),
    disable: booleanOf(options, 'disable', false),
    closeOnSigterm: booleanOf(options, 'closeOnSigterm', false),
    onFailure: onFailureOf(options.onFailure),
  }
}

const isGiven = (value: unknown) => value !== undefined && value !== null

type Loose = { readonly [Name in keyof Options]?: unknown }

function withoutAliases(given: Loose): Loose {
  const options: { -readonly [Name in keyof Loose]: unknown } = { ...given }
  for (const [alias, name] of ALIASES) {
    if (!isGiven(given[alias])) continue
    if (isGiven(given[name]) && given[name] !== given[alias])
      throw fault('invalid_option', `${alias} and ${name} are the same option: set only one of them.`)
    options[name] = given[alias]
  }
  return options
}

function writeKeyOf(value: unknown): string {
  if (!isGiven(value) || value === '')
    throw fault('write_key_required', 'writeKey is required: the write key of the source.')
  // the user name of basic auth (RFC 7617, 2); a secret, not shown
  if (typeof value === 'string' && !/[:\p{Cc}]/u.test(value)) return value
  throw fault('invalid_option', 'writeKey must be a string without colons and control characters.')
}

const BATCH_PATH = '/v1/batch'
const DEFAULT_ENDPOINT = `http://localhost:8080${BATCH_PATH}`

function endpointOf(given: unknown): string {
  const value = given ?? DEFAULT_ENDPOINT
  const isUrl = typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value)
  if (!isUrl)
    // not shown: it may contain a password
    throw fault(
      'invalid_endpoint',
      `endpoint must be a complete http or https URL such as ${DEFAULT_ENDPOINT}, with a port of at most 65535.`,
    )
  const url = new URL(value)
  if (url.username || url.password)
    throw fault(
      'invalid_endpoint',
      'endpoint must not contain a user or password; writeKey takes their place.',
    )
  url.hash = ''
  if (url.pathname === '/') url.pathname = BATCH_PATH
  return url.href
}

function numberOf(options: Loose, name: keyof typeof NUMBERS): number {
  const { default: defaultValue, min, max } = NUMBERS[name]
  const value = options[name] ?? defaultValue
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
  throw invalid(
    `${name} is`,
    value,
    max === MAX ? `a whole number of at least ${min}` : `a whole number from ${min} to ${max}`,
  )
}

function booleanOf(
  options: Loose,
  name: 'gzip' | 'disable' | 'closeOnSigterm',
  defaultValue: boolean,
): boolean {
  const value = options[name] ?? defaultValue
  if (typeof value === 'boolean') return value
  throw invalid(`${name} is`, value, 'true or false')
}

function agentOf(value: unknown): Agents {
  const agents = value ?? {}
  const isRight =
    isObject(agents) &&
    Object.entries(agents).every(
      ([name, agent]) => ['http', 'https'].includes(name) && (!isGiven(agent) || isObject(agent)),
    )
  if (isRight) return agents as Agents // their behaviour cannot be checked
  // not shown: a proxy's URL may contain a password
  throw fault('invalid_option', 'agent must be an object such as { https: agent }, with agents of Node.')
}

function onFailureOf(value: unknown): OnFailure | undefined {
  if (!isGiven(value)) return undefined
  if (typeof value === 'function') return value as OnFailure // its parameters cannot be checked
  throw invalid('onFailure is', value, 'a function')
}

const invalid = (what: string, value: unknown, expected: string) =>
  fault('invalid_option', `${what} ${inspect(value, { depth: 0 })}; it must be ${expected}.`)
