import type { StreamState } from './follow.ts'

/**
 * The latest value of each event. `unavailable`: events without a current value (docs/reference/health.md).
 * `updatedAt`: ISO 8601, of the last value.
 */
export type Latest<T> = {
  values: Partial<T>
  unavailable: readonly string[]
  updatedAt: string | undefined
}

/** `at`: ISO 8601, of its arrival. */
export type StreamEvent = { name: string; data: unknown; at: string }

export const NO_VALUES = { values: {}, unavailable: [], updatedAt: undefined }

export function receive<T>(
  { values, unavailable, updatedAt }: Latest<T>,
  { name, data, at }: StreamEvent,
): Latest<T> {
  if (name === 'unavailable') {
    const { event } = data as { event: string }
    return {
      values,
      updatedAt,
      unavailable: unavailable.includes(event) ? unavailable : [...unavailable, event],
    }
  }
  return {
    values: { ...values, [name]: data },
    unavailable: unavailable.filter((one) => one !== name),
    updatedAt: at,
  }
}

export type Freshness = { state: StreamState; isUnavailable: boolean; updatedAt: string | undefined }

/** @returns undefined if the data is current or the stream broke only a moment ago. */
export function whyStale({
  state,
  isUnavailable,
}: Freshness): { title: string; explanation: string } | undefined {
  if (state.is === 'lost' && (state.failures > 1 || state.error.status !== 0))
    return {
      title: 'Live updates have stopped',
      explanation: `${state.error.message} Reconnecting automatically.`,
    }
  if (state.is === 'ended')
    return { title: 'Live updates have ended', explanation: `${state.error.message}.` }
  if (isUnavailable)
    return {
      title: 'These figures are not current',
      explanation: 'Kafka is not responding to control.',
    }
  return undefined
}
