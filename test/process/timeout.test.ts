import { expect, test } from 'vitest'
import { within, withTimeout } from '../../process/timeout.ts'

const never = new Promise<never>(() => undefined)
const failed = () => Promise.reject(new Error('no broker'))

test('work is waited for up to a limit, and its failure passed on', async () => {
  expect(await withTimeout(Promise.resolve(1), 10_000)).toBe(1)
  await expect(withTimeout(failed(), 10_000)).rejects.toThrow('no broker')
  await expect(withTimeout(never, 1)).rejects.toThrow('timed out after 1 ms')
})

test('work may fail or take too long without harm', async () => {
  for (const work of [Promise.resolve(1), failed(), never]) expect(await within(1, work)).toBeUndefined()
})
