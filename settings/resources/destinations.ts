import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import { isObject } from '../../process/json-objects.ts'
import { pointer } from '../../process/json-pointer.ts'
import { rulesFaults } from '../../rules/faults.ts'
import type { Rules } from '../../rules/rules.ts'
import type { Fault, Members } from '../faults.ts'
import { MASK } from '../mask.ts'
import { type Destination, destinationShape, MAX_WEBHOOKS, storedDestination } from '../settings.ts'
import {
  createFields,
  type Generated,
  namedId,
  type Replaceable,
  replaceFields,
  type Unreachable,
} from './resource.ts'
import { movedSecret, rotationFaults, SHARED_SECRET } from './secret-rotation.ts'
import { workspaceFaults, workspaceOf } from './workspaces.ts'

type GivenDestination = z.infer<typeof destinationShape> & { id?: string | undefined }

/** The rules across the fields of settings/settings.ts. */
export const destinations: Replaceable<GivenDestination, Destination> = {
  kind: 'destination',
  path: 'destinations',
  create: destinationShape.extend(createFields).meta({ id: 'NewDestination' }),
  replace: destinationShape.extend(replaceFields).meta({ id: 'DestinationReplacement' }),
  responseShape: storedDestination.meta({ id: 'Destination' }),
  inWorkspace: 'write',
  all: (facts) => facts.destinations,
  urls: urlsOf,
  newId: namedId,
  build: ({ hashKey, ...given }, { stamp, made, old }) => ({
    ...given,
    ...rotated(given, old),
    ...hashKeyOf({ ...given, hashKey }, { made, old }),
    ...workspaceOf(given, old),
    ...stamp,
  }),

  conflicts: { create: ['id_taken'], replace: [], remove: [] },

  faults(body, { facts, unreachable, old, now }) {
    const inWorkspace = workspaceFaults(body, { facts, old })
    return [...inWorkspace, ...forbiddenUrls(body, unreachable), ...destinationFaults(body, { old, now })]
  },

  uses: () => [],
}

function rotated(given: object, old: Destination | undefined): Pick<Destination, 'previousSecret'> {
  const previousSecret = movedSecret(given, old, SHARED_SECRET)
  return previousSecret === undefined ? {} : { previousSecret }
}

type Keyed = { rules?: Rules | undefined; hashKey?: string | undefined }

/**
 * Keeps an old key, even without rules: a new one would change every user's pseudonym and hide suppressed users in
 * older dead letters.
 */
function hashKeyOf(
  { rules, hashKey }: Keyed,
  { made, old }: { made: Pick<Generated, 'hashKey'>; old: Keyed | undefined },
): Pick<Keyed, 'hashKey'> {
  const kept = hashKey ?? old?.hashKey
  if (kept !== undefined) return { hashKey: kept }
  return rules?.redact ? { hashKey: made.hashKey } : {}
}

type By = { old: Destination | undefined; now: string }

/** Stored destinations are exempt: a later rule must not make them unreadable. `now`: ISO 8601 UTC. */
const destinationFaults = (body: Members, { old, now }: By): Fault[] => [
  ...rotationFaults(body, { old, now }, SHARED_SECRET),
  ...secretFaults(body, old),
  ...duplicateStatusFaults(body.retryOn),
  ...headerLengthFaults(body.webhooks),
  ...hashKeyFaults(body.hashKey, old),
  ...rulesFaults(body.rules, ['rules']),
  ...maskedShapeFaults(body.rules, old?.rules),
]

/** Masks that the view token saw would replace the texts of the shape. A `***` that is already stored may stay. */
function maskedShapeFaults(rules: unknown, old: Rules | undefined): Fault[] {
  if (!isObject(rules) || isDeepStrictEqual(rules.shape, old?.shape)) return []
  return masksIn(rules.shape, ['rules', 'shape']).map((path) => {
    const message = `"${MASK}" stands for a text that the view token may not read: give the text itself`
    return { pointer: pointer(path), code: 'nothing_to_keep', message }
  })
}

function masksIn(value: unknown, path: readonly PropertyKey[]): (readonly PropertyKey[])[] {
  if (value === MASK) return [path]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => masksIn(inner, [...path, name]))
}

const MIN_HASH_KEY = 16

/** Anyone can guess a short key from the hash of a known value. */
function hashKeyFaults(hashKey: unknown, old: Destination | undefined): Fault[] {
  if (typeof hashKey !== 'string' || hashKey.length >= MIN_HASH_KEY || hashKey === old?.hashKey) return []
  const message = `at least ${MIN_HASH_KEY} characters, or leave it out to get a random key`
  return [{ pointer: '/hashKey', code: 'too_short', message }]
}

/** Per webhook: every POST sends its header values, and every response is searched for them. */
const MAX_HEADER_CHARACTERS = 8_192

const BASE64 = /^whsec_(?=.)([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/**
 * Standard Webhooks libraries decode what follows `whsec_` as base64. A secret already in use may stay or become the
 * previous one.
 */
function secretFaults(body: Members, old: Destination | undefined): Fault[] {
  if (body.standardWebhooks !== true) return []
  const signing: Members = { ...body, ...rotated(body, old) }
  const before = old?.standardWebhooks ? [old.sharedSecret, old.previousSecret] : []
  return ['sharedSecret', 'previousSecret'].flatMap((name) => {
    const secret = signing[name]
    if (typeof secret !== 'string' || !secret.startsWith('whsec_') || BASE64.test(secret)) return []
    if (before.includes(secret)) return []
    const message =
      body[name] === undefined
        ? 'the current secret would become the previous one, but with standardWebhooks whsec_ must be followed by padded base64: turn standardWebhooks on after the rotation'
        : 'with standardWebhooks, whsec_ must be followed by padded base64: correct it, or drop the prefix whsec_'
    return [{ pointer: pointer([name]), code: 'invalid_secret', message }]
  })
}

function headerLengthFaults(webhooks: unknown): Fault[] {
  if (!Array.isArray(webhooks)) return []
  return webhooks.flatMap((webhook: { headers?: unknown } | null, index) => {
    const values = Object.values(webhook?.headers ?? {})
    const length = values.reduce<number>(
      (sum, value) => sum + (typeof value === 'string' ? value.length : 0),
      0,
    )
    if (length <= MAX_HEADER_CHARACTERS) return []
    const message = `its header values have ${length.toLocaleString('en-US')} characters in total: at most 8,192 are allowed`
    return [{ pointer: pointer(['webhooks', index, 'headers']), code: 'too_long', message }]
  })
}

function duplicateStatusFaults(statuses: unknown): Fault[] {
  if (!Array.isArray(statuses)) return []
  return statuses.flatMap((status, index) => {
    if (statuses.indexOf(status) === index) return []
    const message = 'is a duplicate: remove it'
    return [{ pointer: pointer(['retryOn', index]), code: 'duplicate_value', message }]
  })
}

/** Leaves out URLs beyond the limit: they are invalid anyway. */
function urlsOf(body: unknown): string[] {
  return urlValues(body)
    .filter((url) => typeof url === 'string')
    .slice(0, MAX_WEBHOOKS)
}

/** Also checks unchanged URLs: their addresses may have changed. */
function forbiddenUrls(body: Members, unreachable: Unreachable): Fault[] {
  return urlValues(body).flatMap((url, index) => {
    const message = typeof url === 'string' && unreachable.get(url)
    return message
      ? [{ pointer: pointer(['webhooks', index, 'url']), code: 'address_forbidden', message }]
      : []
  })
}

function urlValues(body: unknown): unknown[] {
  if (!isObject(body) || !Array.isArray(body.webhooks)) return []
  return body.webhooks.map((webhook: unknown) => (isObject(webhook) ? webhook.url : undefined))
}
