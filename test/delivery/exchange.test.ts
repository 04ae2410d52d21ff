import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Exchange } from '../../delivery/post/exchange.ts'

/** Without `whole`, the connection ends before the body. */
async function keptOf(chunks: readonly Buffer[], { whole = true } = {}): Promise<string | null | undefined> {
  let kept: string | null | undefined
  const exchange = new Exchange({
    limitMs: 60_000,
    classify: ({ status }) => ({ outcome: 'delivered', status }),
    listener: {
      onOutcome: () => undefined,
      onEnd: (response) => {
        kept = response
      },
    },
    release: () => undefined,
  })
  exchange.onResponseStart(undefined, 200, {})
  for (const chunk of chunks) exchange.onResponseData(undefined, chunk)
  if (whole) exchange.onResponseEnd()
  else exchange.onResponseError(undefined, new Error('reset'))
  await new Promise(setImmediate)
  return kept
}

const text = (...texts: string[]) => texts.map((each) => Buffer.from(each))

describe('the stored part of a body:', () => {
  test('nothing without a body', async () => {
    expect(await keptOf([])).toBeNull()
  })

  test('all of one with the longest length, in any number of chunks', async () => {
    const whole = `${'x'.repeat(1_021)}€`
    expect(await keptOf(text(whole))).toBe(whole)
    expect(await keptOf([...Buffer.from(whole)].map((byte) => Buffer.of(byte)))).toBe(whole)
  })

  test.each([
    ['é', 1],
    ['€', 1],
    ['€', 2],
    ['😀', 3],
  ])(
    'no part of a character that the end of the first 1,024 bytes cuts: %s after %i',
    async (character, inside) => {
      const before = 'x'.repeat(1_024 - inside)
      expect(await keptOf(text(`${before}${character} and more`))).toBe(before)
    },
  )

  test('includes a character that ends at the limit', async () => {
    const before = 'x'.repeat(1_020)
    expect(await keptOf(text(`${before}😀 and more`))).toBe(`${before}😀`)
  })

  test.each([true, false])(
    'takes at most 1,024 bytes, even if it is not UTF-8 (whole: %s)',
    async (whole) => {
      for (const length of [341, 342, 1_024, 2_000])
        expect(await keptOf([Buffer.alloc(length, 0xff)], { whole })).toBe('\uFFFD'.repeat(341))
    },
  )

  test('excludes a partial character at the end', async () => {
    expect(await keptOf([Buffer.from('abc€').subarray(0, -1)], { whole: false })).toBe('abc')
  })

  test('text for invalid UTF-8 too', async () => {
    expect(await keptOf([Buffer.from([0x61, 0xff, 0x62])])).toBe('a\ufffdb')
    expect(await keptOf([Buffer.from('café', 'latin1')])).toBe('caf\ufffd')
  })
})

test('the headers are reported before the outcome, once, and never those of an interim response', () => {
  const reported: unknown[] = []
  const exchange = new Exchange({
    limitMs: 60_000,
    classify: ({ status }) => ({ outcome: 'delivered', status }),
    listener: {
      onHead: (head) => void reported.push(head),
      onOutcome: ({ outcome }) => void reported.push(outcome),
      onEnd: () => undefined,
    },
    release: () => undefined,
  })
  exchange.onResponseStart(undefined, 103, { link: 'early' })
  exchange.onResponseStart(undefined, 200, { 'x-a': '1' })
  exchange.onResponseEnd()
  exchange.onResponseError(undefined, new Error('closed'))
  expect(reported).toEqual([{ status: 200, headers: { 'x-a': '1' } }, 'delivered'])
})

test.each([
  ['that waits to be read at the time limit counts: the process was paused', true, 'delivered'],
  ['that has not arrived at the time limit is a timeout', false, 'retry'],
])('an answer %s', async (_, waits, expected) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const outcomes: string[] = []
  const released: boolean[] = []
  const exchange = new Exchange({
    limitMs: 5_000,
    classify: ({ status }) => ({ outcome: 'delivered', status }),
    listener: { onOutcome: ({ outcome }) => void outcomes.push(outcome), onEnd: () => undefined },
    release: (reusable) => void released.push(reusable),
  })
  vi.advanceTimersByTime(5_000)
  // Node runs timers before it reads from sockets
  if (waits) {
    exchange.onResponseStart(undefined, 200, {})
    exchange.onResponseEnd()
  }
  await new Promise(setImmediate)
  expect(outcomes).toEqual([expected])
  // its connection is used again
  expect(released).toEqual([waits])
})
