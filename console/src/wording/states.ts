import type { MantineColor } from '@mantine/core'
import { LIMITS } from './limits.ts'

/**
 * Colors of states. Green: works or ended well. Blue: in progress. Yellow: may still go wrong. Red: went wrong. Gray:
 * off or unknown.
 */
export type Label = { label: string; color: MantineColor; explanation: string }

export const CALL_STATES = {
  accepted: { label: 'Accepted', color: 'green' },
  rejected: { label: 'Rejected', color: 'red' },
} as const

export type DeliveryState =
  | 'waiting'
  | 'delivered'
  | 'rejected'
  | 'retrying'
  | 'deferred'
  | 'held'
  | 'dead'
  | 'cancelled'
  | 'unknown'

export const DELIVERY_STATES: Record<DeliveryState, Label> = {
  waiting: { label: 'Waiting', color: 'blue', explanation: 'No attempt has been made yet.' },
  delivered: { label: 'Delivered', color: 'green', explanation: 'A webhook answered 2xx.' },
  rejected: {
    label: 'Rejected',
    color: 'red',
    explanation: 'The receiver answered 3xx or 4xx. Rejected deliveries are not retried.',
  },
  retrying: {
    label: 'Retrying',
    color: 'yellow',
    explanation: `An attempt failed. The next one follows the retry schedule.${LIMITS.delays}`,
  },
  deferred: {
    label: 'Deferred',
    color: 'gray',
    explanation: 'The webhook cannot take it now. The delivery waits without using an attempt.',
  },
  held: {
    label: 'Held',
    color: 'gray',
    explanation:
      'The delivery fell due while the destination was paused. After you resume it, the delivery is sent within a quarter of the length of the pause.',
  },
  dead: {
    label: 'Dead',
    color: 'red',
    explanation: 'The delivery ended without success. You can replay it.',
  },
  cancelled: {
    label: 'Cancelled',
    color: 'gray',
    explanation: 'The destination was turned off or deleted before the event was delivered.',
  },
  unknown: {
    label: 'Unknown',
    color: 'gray',
    explanation: 'Sluice knows of no attempt, and cannot tell whether there was one.',
  },
}

/** Dashes tell lines apart too: red and green look alike to many people. */
export const LINES = {
  accepted: CALL_STATES.accepted,
  delivered: { label: DELIVERY_STATES.delivered.label, color: 'green' },
  rejected: { label: DELIVERY_STATES.rejected.label, color: 'red', dash: [6, 4] },
  // not red: unlike badges, lines have no text
  dead: { label: DELIVERY_STATES.dead.label, color: 'grape', dash: [2, 3] },
  failedAttempts: { label: 'Failed attempts', color: 'yellow', dash: [12, 4] },
} as const

/** The code of the deferral that is logged when a delivery is held. */
const PAUSED_CODE = 'destination_paused'

const ATTEMPT_OUTCOMES: Record<string, Label> = {
  delivered: { ...DELIVERY_STATES.delivered, explanation: 'The webhook answered 2xx.' },
  rejected: { ...DELIVERY_STATES.rejected, explanation: 'The webhook answered 3xx or 4xx.' },
  retry: {
    label: 'Failed',
    color: 'yellow',
    explanation:
      'The webhook did not answer, or answered with a status that is retried, such as 5xx. The delivery is retried until the schedule ends.',
  },
  refused: {
    label: 'Refused',
    color: 'red',
    explanation: 'The request was not sent: the certificate, address or URL is not acceptable.',
  },
  deferred: DELIVERY_STATES.deferred,
  cancelled: DELIVERY_STATES.cancelled,
}

export type WebhookState = 'healthy' | 'rejecting' | 'failing' | 'paused' | 'idle'

/** A destination has the worst state of its webhooks. */
export const WEBHOOK_STATES: Record<WebhookState, Label> = {
  healthy: { label: 'Healthy', color: 'green', explanation: 'The latest requests were delivered.' },
  rejecting: {
    label: 'Rejecting',
    color: 'red',
    explanation:
      'The webhook answers 3xx or 4xx. These events are not retried. If no other webhook accepts an event, you can replay it from the dead letters.',
  },
  failing: {
    label: 'Failing',
    color: 'red',
    explanation:
      'The latest requests got no answer, or a status that is retried, such as 5xx. After several failures in a row, deliveries are deferred and the webhook is probed every few seconds.',
  },
  paused: {
    label: 'Paused',
    color: 'gray',
    explanation: 'The destination is paused or off. Nothing is sent to it.',
  },
  idle: { label: 'Idle', color: 'gray', explanation: 'Nothing has been sent recently.' },
}

const OFF: Label = {
  label: 'Off',
  color: 'gray',
  explanation: 'The destination is off. Nothing is sent to it.',
}

/** Yellow, because someone has to resume it. */
export const PAUSED: Label = {
  label: 'Paused',
  color: 'yellow',
  explanation: 'The destination is paused. Its deliveries are held and sent after you resume it.',
}

/** For a destination and its webhooks. The API's health calls both states `paused`. */
export function stoppedLabel({ enabled, paused }: { enabled: boolean; paused?: boolean | undefined }) {
  if (!enabled) return OFF
  return paused ? PAUSED : undefined
}

const DEAD_REASONS: Record<string, Omit<Label, 'color'>> = {
  attempts_exhausted: {
    label: 'All attempts failed',
    explanation: `The last attempt of the retry schedule failed.${LIMITS.delays}`,
  },
  window_expired: {
    label: 'Retry window expired',
    explanation: `The next attempt would have come after ${LIMITS.retryWindow}.`,
  },
  rejected: {
    label: 'Rejected by the receiver',
    explanation:
      'The receiver answered 3xx or 4xx, which is not retried. Fix the URL, token or receiver, then replay.',
  },
  refused: {
    label: 'Refused',
    explanation: 'The certificate, address or URL is not acceptable, so a retry would not help.',
  },
  rules_failed: {
    label: 'Rules failed',
    explanation:
      'The rules of the destination failed for this event. Correct them, then replay: the replay uses the current rules.',
  },
}

/** By the outcome of the latest attempt. */
const REPLAY_OUTCOMES: Record<string, Omit<Label, 'explanation'>> = {
  delivered: { label: 'Replayed: delivered', color: 'green' },
  rejected: { label: 'Replayed: rejected', color: 'red' },
}

export const RULES_OUTCOMES = {
  sent: { label: 'Sent', color: 'green' },
  filtered: { label: 'Filtered', color: 'gray' },
  sampled_out: { label: 'Not in the sample', color: 'gray' },
  failed: { label: 'Failed', color: 'red' },
} as const

type Attempted = { outcome: string; code: string | null }

export const isHold = ({ outcome, code }: Attempted): boolean =>
  outcome === 'deferred' && code === PAUSED_CODE

export function outcomeLabel(attempt: Attempted): Label {
  if (isHold(attempt)) return DELIVERY_STATES.held
  const { outcome } = attempt
  return ATTEMPT_OUTCOMES[outcome] ?? { label: outcome, color: 'gray', explanation: '' }
}

export const deadReasonLabel = (reason: string): Label => ({
  color: 'red',
  ...(DEAD_REASONS[reason] ?? { label: reason, explanation: '' }),
})

/** @param outcome undefined: unknown, or no attempt yet. */
export const replayLabel = (outcome: string | undefined) => {
  if (outcome === undefined) return { label: 'Replayed', color: 'gray' }
  return REPLAY_OUTCOMES[outcome] ?? { label: 'Replayed: not delivered yet', color: 'yellow' }
}

/** Appends the last status: "Rejected: 404". */
export const withStatus = (label: Label, status: number | null | undefined): Label =>
  status == null ? label : { ...label, label: `${label.label}: ${status}` }
