import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { whileUsed } from '../../../../control/activity/live/feed.ts'

beforeEach(
  () => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] }),
)
afterEach(() => void vi.useRealTimers())

const ticks = () => new Promise((resolve) => setImmediate(resolve))

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
