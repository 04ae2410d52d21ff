import './node-version.ts'

export { Analytics } from './analytics.ts'
export type {
  Alias,
  Callback,
  CallType,
  Group,
  Id,
  Identify,
  Page,
  QueuedMessage,
  Screen,
  Timestamp,
  Track,
} from './calls.ts'
export { AnalyticsError, type Code } from './errors.ts'
export type { FailedMessage, Failure } from './failure.ts'
export type { Options } from './options.ts'
export type { ErrorListener } from './report.ts'
