import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openWatcher } from '../../../../control/activity/stream/watcher.ts'

beforeEach(
  () => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] }),
)
afterEach(() => void vi.useRealTimers())

const ticks = () => new Promise((resolve) => setImmediate(resolve))

function open() {
  const seen = { skipped: 0, closed: 0, text: '' }
  const watcher = openWatcher({
    onSkipped: (count) => {
      seen.skipped += count
    },
    onClosed: () => {
      seen.closed += 1
    },
  })
  const read = () =>
    watcher.stream.on('data', (chunk) => {
      seen.text += chunk
    })
  return { ...watcher, seen, read }
}

describe('a watcher', () => {
  test('gets the retry delay at once, then messages, and heartbeats', async () => {
    const { send, seen, read } = open()
    read()
    send('event: call\ndata: {}\n\n')
    await ticks()
    expect(seen.text).toBe('retry: 2000\n\nevent: call\ndata: {}\n\n')
    vi.advanceTimersByTime(15_000)
    await ticks()
    expect(seen.text).toMatch(/\n\n: still here\n\n$/)
  })

  test('that reads slowly skips messages instead of filling memory, and learns how many', async () => {
    const { send, seen, read, stream } = open()
    const message = `event: call\ndata: "${'x'.repeat(1_000)}"\n\n`
    for (let index = 0; index < 10_000; index++) send(message)
    expect(stream.readableLength).toBeLessThan(2_100_000)
    expect(seen.skipped).toBeGreaterThan(7_900)
    read()
    await ticks()
    const got = seen.text.split(message).length - 1
    expect(got + seen.skipped).toBe(10_000)
    expect(seen.text).toContain(`event: skipped\ndata: {"count":${seen.skipped},"reason":"slow"}\n\n`)
    send('event: call\ndata: "after"\n\n')
    await ticks()
    expect(seen.text).toMatch(/"slow"}\n\nevent: call\ndata: "after"\n\n$/)
  })

  test('that skipped a message skips all others until that is reported', () => {
    const { send, seen, stream } = open()
    for (let index = 0; index < 30; index++) send('x'.repeat(100_000))
    const { skipped } = seen
    stream.read(1_000_000)
    send('follows')
    expect(seen.skipped).toBe(skipped + 1)
  })

  test('gets fifty large calls at once', () => {
    const { send, seen } = open()
    for (let index = 0; index < 50; index++) send('x'.repeat(36_000))
    expect(seen.skipped).toBe(0)
  })

  test('that reads nothing for a minute although messages wait is disconnected', async () => {
    const { send, seen, stream } = open()
    for (let index = 0; index < 30; index++) send('x'.repeat(100_000))
    vi.advanceTimersByTime(45_000)
    expect(stream.destroyed).toBe(false)
    vi.advanceTimersByTime(30_000)
    await ticks()
    expect([stream.destroyed, seen.closed]).toEqual([true, 1])
  })

  test('that reads stays connected, however long nothing comes', async () => {
    const { read, stream } = open()
    read()
    for (let minute = 0; minute < 10; minute++) {
      vi.advanceTimersByTime(60_000)
      await ticks()
    }
    expect(stream.destroyed).toBe(false)
  })

  test('is ended once, gets the waiting messages, and nothing more', async () => {
    const { send, end, seen, read, isClosed } = open()
    send('last')
    end()
    end()
    send('too late')
    read()
    await ticks()
    expect([seen.text, seen.closed, isClosed()]).toEqual(['retry: 2000\n\nlast', 1, true])
  })

  test('that does not read at its end is closed anyway', async () => {
    const { end, seen } = open()
    end()
    vi.advanceTimersByTime(1_000)
    await ticks()
    expect(seen.closed).toBe(1)
  })
})
