import { expect, test, vi } from 'vitest'
import { poll } from '../../kafka/admin/poll.ts'

/** Its first read fails. */
function polling(close: () => Promise<void>) {
  const open = vi.fn(async () => ({ close }))
  const read = vi.fn(async () => undefined).mockRejectedValueOnce(new Error('no leader'))
  const onFailed = vi.fn()
  return { open, read, onFailed, everyMs: 1 }
}

test.each([
  ['fails to close', () => Promise.reject(new Error('not connected'))],
  ['never closes', () => new Promise<void>(() => undefined)],
])(
  'after a failure there is another reader, even if the old one %s, and the poll can be closed',
  async (_, close) => {
    const parts = polling(close)
    const { close: end } = poll(parts)
    await vi.waitUntil(() => parts.read.mock.calls.length > 1, { timeout: 30_000 })
    expect(parts.open).toHaveBeenCalledTimes(2)
    expect(parts.onFailed).toHaveBeenCalledOnce()
    await end()
  },
)
