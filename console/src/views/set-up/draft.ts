import type { Destination, NewDestination } from '../../api/destinations.ts'
import { draftOf, hostOf, MASK, newWebhook, type WebhookDraft, webhooksOf } from '../webhooks/draft.ts'

/** What has been typed. `name` undefined: nobody has given one. `hasSecret`: one is stored, which nobody is shown; an empty one keeps it. */
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

/** Of a destination that is there already: nothing is typed yet. */
export const storedDraft = ({ name, sourceIds, webhooks, sharedSecret }: Destination): Draft => ({
  ...{ name, sourceIds, webhooks: draftOf(webhooks) },
  ...{ secret: '', hasSecret: sharedSecret !== undefined },
})

/** Unless another is given, that of the host that it goes to: of several destinations each has one of its own. */
export const nameOf = ({ name, webhooks }: Pick<Draft, 'name' | 'webhooks'>): string =>
  name ?? (hostOf(webhooks[0]?.url.trim() ?? '').slice(0, 200) || 'Webhooks')

/** What the API takes. */
export const givenBy = (draft: Draft) =>
  ({
    name: nameOf(draft),
    sourceIds: [...(draft.sourceIds ?? [])],
    webhooks: webhooksOf(draft.webhooks),
    ...((draft.secret !== '' || draft.hasSecret) && { sharedSecret: draft.secret || MASK }),
  }) satisfies NewDestination

/** Whether two drafts would be saved as the same. */
export const isSame = (one: Draft, other: Draft): boolean =>
  JSON.stringify(givenBy(one)) === JSON.stringify(givenBy(other))
