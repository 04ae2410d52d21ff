import { describe, expect, test } from 'vitest'
import { clientOf, startService, track, warnings } from './service.ts'

const rejected = (...indexes: number[]) => ({
  body: JSON.stringify({
    success: true,
    rejected: indexes.map((index) => ({ index, code: 'too_deep', message: 'Nested deeper than 64 levels.' })),
  }),
})

describe('calls that the service rejects from within a batch', () => {
  test('are reported one by one, with its code', async () => {
    const service = await startService(() => rejected(1, 3))
    const { analytics, failures } = clientOf(service)
    for (let number = 0; number < 5; number++) analytics.track({ ...track(number), messageId: `m-${number}` })
    await analytics.flush()
    expect(failures).toMatchObject([
      { error: { name: 'AnalyticsError', code: 'too_deep', status: 200 }, messages: [{ messageId: 'm-1' }] },
      { error: { name: 'AnalyticsError', code: 'too_deep', status: 200 }, messages: [{ messageId: 'm-3' }] },
    ])
    expect(JSON.parse(failures[0]?.messages[0]?.json ?? '')).toMatchObject({ properties: { number: 1 } })
  })

  test('are reported even without a code and a message, and hide no others', async () => {
    const body = JSON.stringify({
      success: true,
      rejected: [{ index: 0 }, null, { index: 2, code: 'too_deep' }],
    })
    const { analytics, failures } = clientOf(await startService(() => ({ body })))
    for (const messageId of ['m-0', 'm-1', 'm-2']) analytics.track({ ...track(0), messageId })
    await analytics.flush()
    expect(failures).toMatchObject([
      {
        error: { code: 'rejected', status: 200, message: 'The service rejected the call.' },
        messages: [{ messageId: 'm-0' }],
      },
      { error: { code: 'too_deep', status: 200 }, messages: [{ messageId: 'm-2' }] },
    ])
  })

  test('are reported once, even if they are named twice', async () => {
    const service = await startService(() => rejected(1, 1))
    const { analytics, failures } = clientOf(service)
    for (const number of [0, 1]) analytics.track(track(number))
    await analytics.flush()
    expect(failures).toHaveLength(1)
  })

  test('are ignored outside the batch', async () => {
    const service = await startService(() => rejected(-1, 1, 0.5))
    const { analytics, failures } = clientOf(service)
    analytics.track(track(0))
    await analytics.flush()
    expect(failures).toEqual([])
  })

  test('are reported together if they are only counted: any call after the listed ones may be one', async () => {
    const answers = [{ rejectedUnlisted: 2 }, { rejectedUnlisted: 3 }, { rejected: [], rejectedUnlisted: 5 }]
    const service = await startService((_arrival, index) => ({
      body: JSON.stringify({ success: true, rejected: [{ index: 1, code: 'too_deep' }], ...answers[index] }),
    }))
    const { analytics, failures } = clientOf(service)
    const codes: (string | null)[] = []
    for (let batch = 0; batch < answers.length; batch++) {
      for (let number = 0; number < 5; number++)
        analytics.track({ ...track(number), messageId: `m-${number}` }, (error) =>
          codes.push(error?.code ?? null),
        )
      await analytics.flush()
    }
    const later = { messages: ['m-2', 'm-3', 'm-4'].map((messageId) => ({ messageId })) }
    const all = Array.from({ length: 5 }, (_, number) => ({ messageId: `m-${number}` }))
    const rejectedAs = (message: string) => ({ code: 'rejected', status: 200, message })
    const second = { error: { code: 'too_deep' }, messages: [{ messageId: 'm-1' }] }
    expect(failures).toMatchObject([
      second,
      { error: rejectedAs('The service rejected 2 of these 3 calls, without listing which.'), ...later },
      second,
      { error: rejectedAs('The service rejected the call.'), ...later },
      { error: rejectedAs('The service rejected the call.'), messages: all },
    ])
    const outcomes = [null, 'too_deep', 'rejected', 'rejected', 'rejected']
    expect(codes).toEqual([...outcomes, ...outcomes, ...Array(5).fill('rejected')])
  })

  test('do not make close() fail', async () => {
    const service = await startService(() => rejected(0))
    const { analytics, failures } = clientOf(service, { closeTimeout: 60_000 })
    analytics.track(track(0))
    await analytics.close()
    expect(failures).toHaveLength(1)
  })
})

describe('an onFailure that fails', () => {
  test.each([
    [
      'by throwing',
      () => {
        throw new Error('broken callback')
      },
    ],
    ['by a promise that rejects', () => Promise.reject(new Error('broken callback'))],
  ])('%s is a warning of the process, and the rest goes on', async (_how, onFailure) => {
    const seen = warnings()
    const service = await startService((_arrival, index) => (index === 0 ? rejected(0, 1) : {}))
    const { analytics } = clientOf(service, { onFailure })
    analytics.track(track(0))
    analytics.track(track(1))
    await analytics.flush()
    analytics.track(track(2))
    await analytics.flush()
    expect(service.calls()).toHaveLength(3)
    expect(seen).toEqual(
      Array(2).fill([expect.stringContaining('broken callback'), { type: 'AnalyticsWarning' }]),
    )
  })

  test('may make calls itself', async () => {
    const service = await startService((_arrival, index) => (index === 0 ? { status: 400 } : {}))
    const { analytics } = clientOf(service, { onFailure: () => analytics.track(track(1)) })
    analytics.track(track(0))
    await analytics.flush()
    await analytics.flush()
    expect(service.arrivals).toHaveLength(2)
  })
})

describe('without onFailure', () => {
  test('a failed batch is one warning of the process, without what the calls hold', async () => {
    const seen = warnings()
    const service = await startService(() => ({
      status: 413,
      body: '{"code":"batch_too_large","message":"A batch may have at most 500 KB."}',
    }))
    const { analytics } = clientOf(service, { onFailure: undefined })
    for (let number = 0; number < 3; number++)
      analytics.track({ ...track(number), context: { secret: 'hidden' } })
    await analytics.flush()
    const message = `3 calls could not be delivered (rejected). ${service.endpoint} answered 413 batch_too_large: A batch may have at most 500 KB.`
    expect(seen).toEqual([[message, { type: 'AnalyticsWarning' }]])
  })

  test('so are the calls that were rejected from within a batch', async () => {
    const seen = warnings()
    const service = await startService(() => rejected(0, 2))
    const { analytics } = clientOf(service, { onFailure: undefined })
    for (let number = 0; number < 3; number++) analytics.track(track(number))
    await analytics.flush()
    expect(seen).toEqual([
      [expect.stringMatching(/^2 calls could not be delivered \(too_deep\)\./), expect.anything()],
    ])
  })
})
