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
}

export const emptyDraft = (): Draft => ({
  name: undefined,
  sourceIds: undefined,
  webhooks: [newWebhook()],
  secret: '',
  hasSecret: false,
})

export const draftFromDestination = ({ name, sourceIds, webhooks, sharedSecret }: Destination): Draft => ({
  ...{ name, sourceIds, webhooks: toDrafts(webhooks) },
  ...{ secret: '', hasSecret: sharedSecret !== undefined },
})

/** The typed name, or the host of the first URL. */
export const destinationName = ({ name, webhooks }: Pick<Draft, 'name' | 'webhooks'>): string =>
  name ?? (hostOf(webhooks[0]?.url.trim() ?? '').slice(0, 200) || 'Webhooks')

export const toDestination = (draft: Draft) =>
  ({
    name: destinationName(draft),
    sourceIds: [...(draft.sourceIds ?? [])],
    webhooks: toWebhooks(draft.webhooks),
    ...((draft.secret !== '' || draft.hasSecret) && { sharedSecret: draft.secret || MASK }),
  }) satisfies NewDestination

export const isEqual = (one: Draft, other: Draft): boolean =>
  JSON.stringify(toDestination(one)) === JSON.stringify(toDestination(other))
