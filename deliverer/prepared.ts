import type { Destination } from '../schemas/settings.ts'
import { webhookKey } from './plan.ts'
import { type SecretKeys, secretKeys } from './signatures.ts'

const USER_AGENT = 'Sluice/1.0'

/** What of a destination's POSTs depends on its settings alone. */
export type Prepared = {
  /** By urlIndex. `key`: see `Target`. `headers`: the same in every POST, the configured ones included. */
  webhooks: readonly { key: string; url: string; headers: Readonly<Record<string, string>> }[]
  /** Undefined without a shared secret: nothing is signed. */
  keys: SecretKeys | undefined
  /** The secret before a rotation; `until`: ms since 1970. */
  previous: { keys: SecretKeys; until: number } | undefined
  standardWebhooks: boolean
  retryOn: readonly number[]
}

const NONE: readonly number[] = []

// a destination that changes is another object
const known = new WeakMap<Destination, Prepared>()

/** Made at the first POST after a change: at thousands of POSTs a second the rest must not cost anything. */
export function prepared(destination: Destination): Prepared {
  const found = known.get(destination)
  if (found) return found
  const made = prepare(destination)
  known.set(destination, made)
  return made
}

function prepare(destination: Destination): Prepared {
  const { webhooks, sharedSecret, previousSecret, previousSecretExpiresAt, retryOn } = destination
  const standardWebhooks = sharedSecret !== undefined && destination.standardWebhooks === true
  const taken = ownNames(destination)
  return {
    webhooks: webhooks.map(({ url, headers }, urlIndex) => ({
      key: webhookKey(destination.id, urlIndex, url),
      url,
      headers: { 'User-Agent': USER_AGENT, 'Content-Type': 'application/json', ...without(headers, taken) },
    })),
    keys: sharedSecret === undefined ? undefined : secretKeys(sharedSecret),
    previous:
      previousSecret === undefined || previousSecretExpiresAt === undefined
        ? undefined
        : { keys: secretKeys(previousSecret), until: Date.parse(previousSecretExpiresAt) },
    standardWebhooks,
    retryOn: retryOn ?? NONE,
  }
}

/**
 * Names that we set on each of this destination's POSTs, in lower case. Of a configured header with such a name ours goes out;
 * those that are on some POSTs only take its place there (request.ts).
 */
function ownNames({ sharedSecret, standardWebhooks }: Destination): Set<string> {
  const names = ['user-agent', 'content-type', 'x-delivery-id', 'x-message-id', 'x-attempt']
  if (sharedSecret !== undefined) {
    names.push('x-signature')
    if (standardWebhooks) names.push('webhook-id', 'webhook-timestamp', 'webhook-signature')
  }
  return new Set(names)
}

/** @param names in lower case. */
export const without = (headers: Readonly<Record<string, string>>, names: ReadonlySet<string>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.has(name.toLowerCase())))
