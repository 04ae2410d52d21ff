import { inspect } from 'node:util'
import { fault } from './errors.ts'
import { isObject, kindOf } from './fields.ts'
import { CALL_BYTES } from './limits.ts'
import type { Options } from './options.ts'
import type { Agents } from './post.ts'
import type { OnFailure } from './report.ts'

/** Options that are checked, with all defaults. */
export type Settings = ReturnType<typeof readSettings>

/** The most that a timer of Node takes. */
const MOST_MS = 2 ** 31 - 1
const MOST = Number.MAX_SAFE_INTEGER

const NUMBERS = {
  flushAt: { otherwise: 20, least: 1, most: MOST },
  flushAfter: { otherwise: 5_000, least: 1, most: MOST_MS },
  maxQueue: { otherwise: 20_000, least: 1, most: MOST },
  maxQueueBytes: { otherwise: 32 * 1024 * 1024, least: CALL_BYTES, most: MOST },
  maxRetries: { otherwise: 25, least: 0, most: MOST },
  retryBase: { otherwise: 100, least: 1, most: MOST_MS },
  requestTimeout: { otherwise: 15_000, least: 1, most: MOST_MS },
  closeTimeout: { otherwise: 30_000, least: 0, most: MOST_MS },
} as const

const ALIASES = [
  ['size', 'flushAt'],
  ['interval', 'flushAfter'],
] as const

/** Every option; a test compares them with the README. */
export const OPTIONS = [
  'writeKey',
  'endpoint',
  ...Object.keys(NUMBERS),
  ...ALIASES.map(([alias]) => alias),
  'gzip',
  'agent',
  'closeOnSigterm',
  'onFailure',
]

/** @throws AnalyticsError for the first fault, saying what to do. */
export function readSettings(given: Options) {
  // not shown: it may be the write key
  if (!isObject(given))
    throw fault(
      'invalid_option',
      `The options must be an object like { writeKey: '...' }; they are ${kindOf(given)}.`,
    )
  const unknown = Object.keys(given).find((name) => !OPTIONS.includes(name))
  if (unknown !== undefined)
    throw fault('invalid_option', `There is no option ${unknown}; there are ${OPTIONS.join(', ')}.`)
  const options = withoutAliases(given)
  const maxQueue = numberOf(options, 'maxQueue')
  return {
    writeKey: writeKeyOf(options.writeKey),
    endpoint: endpointOf(options.endpoint),
    // or a full queue would wait for more
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
    closeOnSigterm: booleanOf(options, 'closeOnSigterm', false),
    onFailure: onFailureOf(options.onFailure),
  }
}

/** Null and undefined are the same as no option. */
const isGiven = (value: unknown) => value !== undefined && value !== null

type Loose = { readonly [Name in keyof Options]?: unknown }

function withoutAliases(given: Loose): Loose {
  const options: { -readonly [Name in keyof Loose]: unknown } = { ...given }
  for (const [alias, name] of ALIASES) {
    if (!isGiven(given[alias])) continue
    if (isGiven(given[name]) && given[name] !== given[alias])
      throw fault('invalid_option', `${alias} is another name of ${name}: give one of them.`)
    options[name] = given[alias]
  }
  return options
}

function writeKeyOf(value: unknown): string {
  if (!isGiven(value) || value === '')
    throw fault('write_key_required', 'writeKey is needed: the write key of the source.')
  // it is the user name of basic auth (RFC 7617, 2); its value is a secret and not shown
  if (typeof value === 'string' && !/[:\p{Cc}]/u.test(value)) return value
  throw fault('invalid_option', 'writeKey must be a text without colons and control characters.')
}

const BATCH_PATH = '/v1/batch'
const DEFAULT_ENDPOINT = `http://localhost:8080${BATCH_PATH}`

function endpointOf(given: unknown): string {
  const value = given ?? DEFAULT_ENDPOINT
  const isUrl = typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value)
  if (!isUrl)
    // not shown: a password may be in it
    throw fault(
      'invalid_endpoint',
      `endpoint must be a whole http or https URL, like ${DEFAULT_ENDPOINT}, and its port at most 65535.`,
    )
  const url = new URL(value)
  if (url.username || url.password)
    throw fault(
      'invalid_endpoint',
      'endpoint must be without user and password: writeKey goes in their place.',
    )
  url.hash = ''
  if (url.pathname === '/') url.pathname = BATCH_PATH
  return url.href
}

function numberOf(options: Loose, name: keyof typeof NUMBERS): number {
  const { otherwise, least, most } = NUMBERS[name]
  const value = options[name] ?? otherwise
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value
  throw invalid(`${name} is`, value, `a whole number from ${least}${most === MOST ? '' : ` to ${most}`}`)
}

function booleanOf(options: Loose, name: 'gzip' | 'closeOnSigterm', otherwise: boolean): boolean {
  const value = options[name] ?? otherwise
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
  if (isRight) return agents as Agents // what they do cannot be checked
  // not shown: a proxy's may hold a password
  throw fault('invalid_option', 'agent must be an object like { https: agent }, with agents of Node.')
}

function onFailureOf(value: unknown): OnFailure | undefined {
  if (!isGiven(value)) return undefined
  if (typeof value === 'function') return value as OnFailure // its parameters cannot be checked
  throw invalid('onFailure is', value, 'a function')
}

const invalid = (what: string, value: unknown, wanted: string) =>
  fault('invalid_option', `${what} ${inspect(value, { depth: 0 })}; it must be ${wanted}.`)
