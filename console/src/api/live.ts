import type { Shapes } from './client.ts'

export type Attempt = Shapes['Attempt']

/** A call as the stream tells it: docs/reference/activity.md. What it does not have is not there. */
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
