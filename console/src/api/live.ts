import type { Schemas } from './client/client.ts'

export type Attempt = Schemas['Attempt']

/** A call in the live stream (docs/reference/activity.md). Fields that the call lacks are absent. */
export type Call = {
  messageId: string
  type: string
  userId?: string
  anonymousId?: string
  event?: string
  name?: string
  receivedAt: string
  timestamp: string
  integrations?: unknown
  [field: string]: unknown
}

export type RejectedCall = {
  code: string
  message: string
  receivedAt: string
  raw: string
  truncated: boolean
}

export type Skipped = { count: number; reason: 'rate' | 'slow' }

export const liveUrl = (sourceId: string) => `/api/sources/${encodeURIComponent(sourceId)}/live`
