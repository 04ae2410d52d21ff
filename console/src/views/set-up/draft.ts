import type { Destination, NewDestination } from '../../api/destinations.ts'
import { hostOf, MASK, newWebhook, toDrafts, toWebhooks, type WebhookDraft } from '../webhooks/draft.ts'

/**
 * What the user has typed. `name` is undefined until the user types one. `hasSecret`: a secret is stored, and an empty
 * `secret` keeps it.
 */
export type Draft = {
  name: string | undefined
  sourceIds: readonly string[] | undefined
  webhooks: readonly WebhookDraft[]
  secret: string
  hasSecret: boolean
  scheme: Scheme
}

/** How requests are signed if there is a secret: with Standard Webhooks too, or only with HMAC-SHA1. */
export type Scheme = 'standard' | 'sha1'

export const emptyDraft = (): Draft => ({
  name: undefined,
  sourceIds: undefined,
  webhooks: [newWebhook()],
  secret: '',
  hasSecret: false,
  scheme: 'standard',
})

/** A destination that has a secret and made no choice is signed with HMAC-SHA1 only, and stays so. */
export function draftFromDestination(destination: Destination): Draft {
  const { name, sourceIds, webhooks, sharedSecret, standardWebhooks } = destination
  const hasSecret = sharedSecret !== undefined
  return {
    ...{ name, sourceIds, webhooks: toDrafts(webhooks), secret: '', hasSecret },
    scheme: (standardWebhooks ?? !hasSecret) ? 'standard' : 'sha1',
  }
}

/** The typed name, or the host of the first URL. */
export const destinationName = ({ name, webhooks }: Pick<Draft, 'name' | 'webhooks'>): string =>
  name ?? (hostOf(webhooks[0]?.url.trim() ?? '').slice(0, 200) || 'Webhooks')

export function toDestination(draft: Draft) {
  const isSigned = draft.secret !== '' || draft.hasSecret
  return {
    name: destinationName(draft),
    sourceIds: [...(draft.sourceIds ?? [])],
    webhooks: toWebhooks(draft.webhooks),
    ...(isSigned && { sharedSecret: draft.secret || MASK }),
    ...(isSigned && draft.scheme === 'standard' && { standardWebhooks: true }),
  } satisfies NewDestination
}

export const isEqual = (one: Draft, other: Draft): boolean =>
  JSON.stringify(toDestination(one)) === JSON.stringify(toDestination(other))
