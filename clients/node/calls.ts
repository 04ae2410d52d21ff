import type { AnalyticsError } from './errors.ts'

export type CallType = 'identify' | 'track' | 'page' | 'screen' | 'group' | 'alias'

/** A string; a whole number up to 2^53 - 1 is sent as a decimal string. */
export type Id = string | number

/** ISO 8601, such as `2026-01-02T03:04:05.678Z`; UTC if it has no offset. */
export type Timestamp = string | Date

/** Null and undefined count as absent. */
type Common = {
  /** Identifies duplicates; at most 100 characters. Default: a new UUIDv7. */
  messageId?: string | null | undefined
  /** When it happened. Default: now. The service corrects it by this machine's clock error. */
  timestamp?: Timestamp | null | undefined
  /** Circumstances (page, device, locale), not attributes of the user. */
  context?: object | null | undefined
  /** Turns destinations on or off by name: `{ All: false, Webhooks: true }` sends only to Webhooks. */
  integrations?: object | null | undefined
}

/** At least one of the two is required. */
type Someone =
  | { userId: Id; anonymousId?: Id | null | undefined }
  | { userId?: Id | null | undefined; anonymousId: Id }

export type Identify = Common & Someone & { traits?: object | null | undefined }

/** An action of a user. */
export type Track = Common & Someone & { event: string; properties?: object | null | undefined }

/** A page view. Known keys of `properties`: url, title, referrer, path. */
export type Page = Common &
  Someone & {
    category?: string | null | undefined
    name?: string | null | undefined
    properties?: object | null | undefined
    /** The Go library's name for `properties`; used only without them. */
    traits?: object | null | undefined
  }

/** A view of an app's screen. */
export type Screen = Common &
  Someone & {
    category?: string | null | undefined
    name?: string | null | undefined
    properties?: object | null | undefined
  }

/** A user belongs to a company, organization, account, project or team. */
export type Group = Common & Someone & { groupId: Id; traits?: object | null | undefined }

/** Two ids belong to one user: `userId` is the new id, `previousId` the old one. */
export type Alias = Common & { userId: Id; previousId: Id }

/** A call as it was queued and sent. */
export type QueuedMessage = { readonly type: CallType; readonly messageId: string; readonly json: string }

/**
 * Called once, when the call is delivered (`error` is null) or has failed. flush() and close() wait for a returned
 * promise; until then the call counts towards `maxQueue`. Do not await flush(), close() or room() in it.
 */
export type Callback = (error: AnalyticsError | null, message: QueuedMessage) => unknown
