import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { whileUsed } from '../../../../control/activity/live/live.ts'
import { openWatcher } from '../../../../control/activity/live/watcher.ts'

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

describe('a resource that is open while in use', () => {
  function parts(fails = false) {
    const log: string[] = []
    const open = async () => {
      log.push('open')
      if (fails) throw new Error('no broker')
      return { close: async () => void log.push('close') }
    }
    return { log, used: whileUsed(open, 1_000) }
  }

  test('is opened for the first user, and closed a while after the last', async () => {
    const { log, used } = parts()
    expect(await used.use()).toBe(await used.use())
    used.release()
    vi.advanceTimersByTime(5_000)
    expect(log).toEqual(['open'])
    used.release()
    vi.advanceTimersByTime(999)
    await ticks()
    expect(log).toEqual(['open'])
    vi.advanceTimersByTime(1)
    await ticks()
    expect(log).toEqual(['open', 'close'])
    await used.use()
    expect(log).toEqual(['open', 'close', 'open'])
  })

  test('stays open for a user that comes back in time', async () => {
    const { log, used } = parts()
    await used.use()
    used.release()
    vi.advanceTimersByTime(999)
    await used.use()
    vi.advanceTimersByTime(5_000)
    await ticks()
    expect(log).toEqual(['open'])
  })

  test('that could not be opened is opened by the next user', async () => {
    const { log, used } = parts(true)
    await expect(used.use()).rejects.toThrow('no broker')
    await expect(used.use()).rejects.toThrow('no broker')
    expect(log).toEqual(['open', 'open'])
    await used.close()
  })

  test('is closed once at the end, even while it is being opened', async () => {
    const { log, used } = parts()
    const using = used.use()
    await Promise.all([used.close(), used.close()])
    await using
    used.release()
    vi.advanceTimersByTime(5_000)
    await ticks()
    expect(log).toEqual(['open', 'close'])
  })
})
