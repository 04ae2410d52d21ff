import { describe, expect, test } from 'vitest'
import { expiryOf, openPending, type Pending } from '../../kafka/produce/queue/pending.ts'

const aBatch = (records: number, deadline: number) => ({ pending: openPending(records, deadline) })

describe('a deadline', () => {
  test('is late once it has passed, and the next look is at the next one', () => {
    const [late, next, later] = [aBatch(1, 10), aBatch(1, 30), aBatch(1, 40)]
    const expiry = expiryOf({ sendable: [later, late, next], unwritable: [] }, 10)
    expect(expiry).toEqual({ late: [late], dropped: new Set(), nextAt: 30 })
  })

  test('drops a batch once all its remaining records wait for their partition', () => {
    const batch = aBatch(3, 10)
    batch.pending.ended('acked')
    const expiry = expiryOf({ sendable: [], unwritable: [batch, batch] }, 10)
    expect(expiry).toEqual({ late: [batch], dropped: new Set([batch]), nextAt: Number.POSITIVE_INFINITY })
  })

  test('drops no record of a batch while others of it are sent, and soon looks again', () => {
    const batch = aBatch(3, 10)
    const expiry = expiryOf({ sendable: [batch], unwritable: [batch, batch] }, 10)
    expect(expiry).toEqual({ late: [batch], dropped: new Set(), nextAt: 0 })
  })

  test('keeps unwritable batches until then', () => {
    const batch = aBatch(1, 10)
    const expiry = expiryOf({ sendable: [], unwritable: [batch] }, 9)
    expect(expiry).toEqual({ late: [], dropped: new Set(), nextAt: 10 })
  })

  test('never passes without one, but the last look drops all that is unwritable', () => {
    const [sent, waits] = [aBatch(2, Number.POSITIVE_INFINITY), aBatch(2, Number.POSITIVE_INFINITY)]
    const queue = { sendable: [sent, waits], unwritable: [waits] }
    expect(expiryOf(queue, 1e12)).toEqual({ late: [], dropped: new Set(), nextAt: Number.POSITIVE_INFINITY })
    const { late, dropped } = expiryOf(queue, Number.POSITIVE_INFINITY)
    expect([late, dropped]).toEqual([[sent, waits], new Set([waits])])
  })
})

describe('the outcome of a batch', () => {
  const settled = async (end: (pending: Pending) => void) => {
    const pending = openPending(2, 10)
    end(pending)
    return Promise.race([pending.outcome, Promise.resolve('open')])
  }

  test('is acked after its last record', async () => {
    expect(await settled((pending) => pending.ended('acked'))).toBe('open')
    expect(
      await settled((pending) => {
        pending.ended('acked')
        pending.ended('acked')
      }),
    ).toBe('acked')
  })

  test('is refused at the first refusal, and stays unknown once its deadline has passed', async () => {
    expect(await settled((pending) => pending.ended('refused'))).toBe('refused')
    expect(
      await settled((pending) => {
        pending.settle('unknown')
        pending.ended('refused')
      }),
    ).toBe('unknown')
  })
})
