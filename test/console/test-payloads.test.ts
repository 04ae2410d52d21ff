import { expect, test } from 'vitest'
import type { FoundEvent } from '../../console/src/api/events.ts'
import { recentPayloads, SAMPLES, toBody } from '../../console/src/views/test-send/payloads.ts'
import { callShape } from '../../control/settings/test-call.ts'
import { EVENT_TYPES } from '../../settings/settings.ts'

const found = (type: string, call: object): FoundEvent => ({
  ...{ messageId: 'm1', type, userId: 'u1', anonymousId: null, event: 'Paid', name: null },
  ...{ sourceId: 'shop', receivedAt: '2026-01-02T03:04:05.678Z', rejected: null, destinations: [] },
  call: { type, userId: 'u1', event: 'Paid', messageId: 'm1', receivedAt: 'r', sentAt: 's', ...call },
})

test('there is a sample of every type, and the API takes each', () => {
  expect(SAMPLES.map(({ id }) => id.replace('sample ', '')).sort()).toEqual([...EVENT_TYPES].sort())
  for (const sample of SAMPLES) {
    const body = toBody(sample, sample.text ?? '')
    if ('call' in body) expect(callShape.safeParse(body.call).success).toBe(true)
    else expect(body).toEqual({ type: 'delete' })
  }
})

test('a recent event is offered without the fields that a test ignores', () => {
  const [payload, ...others] = recentPayloads([found('track', { omitted: ['context'] }), found('delete', {})])
  if (!payload) throw new Error('expected a payload')
  expect(others).toEqual([])
  expect(payload).toMatchObject({
    label: expect.stringMatching(/^track “Paid” from u1, /),
    omitted: ['context'],
  })
  expect(toBody(payload, payload.text ?? '')).toEqual({
    call: { type: 'track', userId: 'u1', event: 'Paid' },
  })
})

test('text that is not JSON is not sent', () => {
  expect(toBody(SAMPLES[0], '{')).toBeInstanceOf(SyntaxError)
})
