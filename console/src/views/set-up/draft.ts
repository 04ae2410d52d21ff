import type { Destination, NewDestination } from '../../api/destinations.ts'
import { hostOf, MASK, newWebhook, toDrafts, toWebhooks, type WebhookDraft } from '../webhooks/draft.ts'

/** As typed. `name`: undefined until typed. `hasSecret`: one is stored, and an empty `secret` keeps it. */
export type Draft = {
  name: string | undefined
  sourceIds: readonly string[] | undefined
  workspaceId: string | undefined
  webhooks: readonly WebhookDraft[]
  secret: string
  hasSecret: boolean
  scheme: Scheme
}

/** With a secret: Standard Webhooks too, or only HMAC-SHA1. */
export type Scheme = 'standard' | 'sha1'

export const emptyDraft = (): Draft => ({
  name: undefined,
  sourceIds: undefined,
  workspaceId: undefined,
  webhooks: [newWebhook()],
  secret: '',
  hasSecret: false,
  scheme: 'standard',
})

/** A destination with a secret but no choice keeps HMAC-SHA1 only. */
export function draftFromDestination(destination: Destination): Draft {
  const { name, sourceIds, workspaceId, webhooks, sharedSecret, standardWebhooks } = destination
  const hasSecret = sharedSecret !== undefined
  return {
    name,
    sourceIds,
    workspaceId,
    webhooks: toDrafts(webhooks),
    secret: '',
    hasSecret,
    scheme: (standardWebhooks ?? !hasSecret) ? 'standard' : 'sha1',
  }
}

/** As typed, or the host of the first URL. */
export const destinationName = ({ name, webhooks }: Pick<Draft, 'name' | 'webhooks'>): string =>
  name ?? (hostOf(webhooks[0]?.url.trim() ?? '').slice(0, 200) || 'Webhooks')

export function toDestination(draft: Draft) {
  const isSigned = draft.secret !== '' || draft.hasSecret
  return {
    name: destinationName(draft),
    sourceIds: [...(draft.sourceIds ?? [])],
    ...(draft.workspaceId !== undefined && { workspaceId: draft.workspaceId }),
    webhooks: toWebhooks(draft.webhooks),
    ...(isSigned && { sharedSecret: draft.secret || MASK }),
    ...(isSigned && draft.scheme === 'standard' && { standardWebhooks: true }),
  } satisfies NewDestination
}

export const isEqual = (one: Draft, other: Draft): boolean =>
  JSON.stringify(toDestination(one)) === JSON.stringify(toDestination(other))
