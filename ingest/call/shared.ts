import { type OfBatch, ownIntegrations, withAll } from './columns.ts'
import { type JsonObject, jsonBytes } from './json.ts'
import { parseTime } from './time.ts'

/** What the calls of a batch have in common; null where there is nothing. */
export type Shared = OfBatch & {
  sentAt: number | null
  /** Bytes that each call of the batch gets of it. */
  bytes: number
}

export const NOTHING_SHARED: Shared = { context: null, integrations: null, sentAt: null, bytes: 0 }

export function readShared({ context = null, integrations = null, sentAt }: JsonObject): Shared {
  const bytes =
    (context === null ? 0 : jsonBytes(context)) + (integrations === null ? 0 : jsonBytes(integrations))
  return {
    context,
    integrations: withAll(integrations ?? ownIntegrations(context)),
    sentAt: parseTime(sentAt),
    bytes,
  }
}
