import { api, resultOf, type Schemas } from './client/client.ts'
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
export const fetchPreview = ({ id, rules, sourceIds, eventTypes }: Previewed): Promise<Preview> =>
  resultOf(
    api.POST('/api/destinations/preview', {
      body: {
        rules: rules as Rules,
        sourceIds,
        last: PREVIEWED,
        destinationId: id,
        ...(eventTypes && { eventTypes }),
      },
    }),
  )
