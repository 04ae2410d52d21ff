export type CallType = 'identify' | 'track' | 'page' | 'screen' | 'group' | 'alias'

/** A text; a whole number up to 2^53 - 1 is sent as its decimal text. */
export type Id = string | number

/** ISO 8601, such as `2026-01-02T03:04:05.678Z`; without an offset it is taken for UTC. */
export type Timestamp = string | Date

/** What every call takes. Null and undefined are the same everywhere: absent. */
type Common = {
  /** Keeps a call from being counted twice: at most 100 characters. Made when there is none (UUIDv7). */
  messageId?: string | null | undefined
  /** When it happened; now, when there is none. The service corrects it by how far this machine's clock is off its own. */
  timestamp?: Timestamp | null | undefined
  /** What surrounds the call (page, device, locale). It is no attribute of the user. A JSON object. */
  context?: object | null | undefined
  /** Destinations by name, to be switched on or off: `{ All: false, Webhooks: true }` is Webhooks alone. */
  integrations?: object | null | undefined
}

/** One of the two is needed. */
type Someone =
  | { userId: Id; anonymousId?: Id | null | undefined }
  | { userId?: Id | null | undefined; anonymousId: Id }

/** Ties a user to traits. */
export type Identify = Common & Someone & { traits?: object | null | undefined }

/** What a user does. */
export type Track = Common & Someone & { event: string; properties?: object | null | undefined }

/** A page is viewed. Known keys of `properties`: url, title, referrer, path. */
export type Page = Common &
  Someone & {
    category?: string | null | undefined
    name?: string | null | undefined
    properties?: object | null | undefined
    /** The Go library's name for `properties`; the service takes them where there are no properties. */
    traits?: object | null | undefined
  }

/** A screen of an app is viewed. */
export type Screen = Common &
  Someone & {
    category?: string | null | undefined
    name?: string | null | undefined
    properties?: object | null | undefined
  }

/** A user belongs to a company, an organization, an account, a project or a team. */
export type Group = Common & Someone & { groupId: Id; traits?: object | null | undefined }

/** Two ids are one user: `userId` the new one, `previousId` the one until now. */
export type Alias = Common & { userId: Id; previousId: Id }
