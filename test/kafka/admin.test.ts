import { describe, expect, test } from 'vitest'
import { tooShort } from '../../kafka/admin.ts'

const HOUR = 3_600_000

describe('a topic is kept for too short a time', () => {
  test('when deliveries may have to wait for longer: it is named with what to do', () => {
    expect(tooShort('deliveries', String(HOUR), 28 * HOUR)).toBe(
      'topic deliveries keeps records for 1h (retention.ms=3600000), and deliveries may wait for 28h: the retry window, and a day for outages. ' +
        'Raise it: kafka-configs --bootstrap-server ... --alter --entity-type topics --entity-name deliveries --add-config retention.ms=100800000',
    )
  })

  test.each([
    ['it is kept for just as long', String(28 * HOUR), 28 * HOUR],
    ['it is kept for ever', '-1', 28 * HOUR],
    ['nothing waits in it', '1', undefined],
    ['Kafka does not say', undefined, 28 * HOUR],
  ])('but not when %s', (_why, actual, needed) => {
    expect(tooShort('deliveries', actual, needed)).toBeUndefined()
  })
})
