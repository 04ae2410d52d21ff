import { expect, test } from 'vitest'
import { carried } from '../../trace/trace.ts'

test('a moved record keeps its trace headers and no others', () => {
  const traceparent = Buffer.from('00-a-b-01')
  expect(carried({ traceparent, dueAt: '1' })).toEqual({ traceparent })
  expect(carried({ traceparent: [traceparent, 'second'], tracestate: 'a=b' })).toEqual({
    traceparent,
    tracestate: 'a=b',
  })
})

test('a record without a trace stays without one', () => {
  expect([carried(undefined), carried({}), carried({ traceparent: '' })]).toEqual([{}, {}, {}])
})
