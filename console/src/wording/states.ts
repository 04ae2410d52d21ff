import type { MantineColor } from '@mantine/core'

type Shown = { label: string; color: MantineColor }

/** Outcomes of one attempt; what follows is said by the state of its delivery. */
const OUTCOMES: Record<string, Shown> = {
  delivered: { label: 'Delivered', color: 'green' },
  rejected: { label: 'Rejected', color: 'red' },
  retry: { label: 'Failed', color: 'yellow' },
  refused: { label: 'Refused', color: 'red' },
  deferred: { label: 'Put off', color: 'gray' },
  cancelled: { label: 'Cancelled', color: 'gray' },
}

/** What is to become of a delivery, or has. */
const STATES: Record<string, Shown> = {
  waiting: { label: 'Waiting', color: 'blue' },
  retrying: { label: 'Retrying', color: 'yellow' },
  delivered: { label: 'Delivered', color: 'green' },
  dead: { label: 'Given up', color: 'red' },
  cancelled: { label: 'Cancelled', color: 'gray' },
  unknown: { label: 'Not known any more', color: 'gray' },
}

const BREAKERS: Record<string, Shown & { says: string }> = {
  closed: { label: 'Healthy', color: 'green', says: 'It answers: everything is sent at once.' },
  'half-open': {
    label: 'Being probed',
    color: 'yellow',
    says: 'It failed; a request is tried now and then.',
  },
  open: {
    label: 'Failing',
    color: 'red',
    says: 'It failed several times in a row: what comes is put off, and it is probed every few seconds.',
  },
  unknown: { label: 'Nothing sent lately', color: 'gray', says: 'No request has gone there of late.' },
}

/** Of a breaker that is closed still, though the last request has failed. */
export const FAILED_LAST: Shown & { says: string } = {
  label: 'Failed last',
  color: 'yellow',
  says: 'The last request to it has failed. What comes is still sent at once.',
}

/** For a delivery that was given up because the receiver rejected it. @param status of its last answer. */
export const rejectedOf = (status: number | null | undefined): Shown => ({
  label: status == null ? 'Rejected' : `Rejected: ${status}`,
  color: 'red',
})

/** For a webhook that answers with 3xx or 4xx. @param status of its last answer. */
export const rejectingOf = (status: number | null): Shown & { says: string } => ({
  label: status === null ? 'Rejecting' : `Rejecting: ${status}`,
  color: 'red',
  says: 'It answers 3xx or 4xx. These events are not retried. If no other URL takes an event, you can replay it from the dead letters.',
})

const REASONS: Record<string, { label: string; says: string }> = {
  attempts_exhausted: {
    label: 'All attempts failed',
    says: 'The last attempt of the retry plan has failed.',
  },
  window_expired: {
    label: 'Too late to retry',
    says: 'The next attempt would have come after the retry window (4 hours unless set otherwise).',
  },
  rejected: {
    label: 'Rejected by the receiver',
    says: 'The receiver answered 3xx or 4xx, which is not retried. Correct the URL, token or receiver, then replay.',
  },
  refused: {
    label: 'Refused for good',
    says: 'Certificate, address or URL are not acceptable: trying again would not help.',
  },
}

export const outcomeOf = (outcome: string): Shown => OUTCOMES[outcome] ?? { label: outcome, color: 'gray' }
/** Of a dead letter that was sent again. */
export const afterwardsOf = (outcome: string): Shown =>
  outcome === 'delivered'
    ? { label: 'Replayed: delivered', color: 'green' }
    : outcome === 'rejected'
      ? { label: 'Replayed: rejected again', color: 'red' }
      : { label: 'Replayed: not delivered yet', color: 'yellow' }

export const stateOf = (state: string): Shown => STATES[state] ?? { label: state, color: 'gray' }
export const breakerOf = (state: string) => BREAKERS[state] ?? { label: state, color: 'gray', says: '' }
export const reasonOf = (reason: string) => REASONS[reason] ?? { label: reason, says: '' }
