import { api, resultOf, type Schemas } from './client/client.ts'
import { handleSessionEnd } from './client/query-client.ts'
import type { Destination } from './destinations.ts'

export type Rules = Schemas['Rules']
export type Preview = Schemas['RulesPreview']
export type PreviewItem = Preview['items'][number]

/** Recent events in a preview. */
export const PREVIEWED = 50

type Previewed = Pick<Destination, 'id' | 'sourceIds' | 'eventTypes'> & {
  /** As typed; the API checks them. */
  rules: unknown
}

/** @throws ApiError with the faults of the rules. */
export async function fetchPreview({ id, rules, sourceIds, eventTypes }: Previewed): Promise<Preview> {
  const body = {
    ...{ rules: rules as Rules, sourceIds, last: PREVIEWED, destinationId: id },
    ...(eventTypes && { eventTypes }),
  }
  try {
    return await resultOf(api.POST('/api/destinations/preview', { body }))
  } catch (error) {
    handleSessionEnd(error)
    throw error
  }
}
