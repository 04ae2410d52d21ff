import { expect, test } from 'vitest'
import { limitCollections } from '../../http/probes.ts'

/** @returns functions that ask for metrics at a time in milliseconds, and the number of collections so far. */
function metrics() {
  let collections = 0
  let now = 0
  const collected = limitCollections(
    async () => `collection ${++collections}`,
    () => now,
  )
  const askAt = (at: number) => {
    now = at
    return collected()
  }
  return { askAt, collections: () => collections }
}

test('concurrent requests for metrics share one collection', async () => {
  const { askAt, collections } = metrics()
  const answers = await Promise.all([askAt(0), askAt(0), askAt(0)])
  expect(answers).toEqual(['collection 1', 'collection 1', 'collection 1'])
  expect(await askAt(0)).toBe('collection 2')
  expect(collections()).toBe(2)
})

test('a flood of requests gets copies of the latest metrics, and later ones are new', async () => {
  const { askAt, collections } = metrics()
  for (let times = 0; times < 100; times++) await askAt(0)
  expect(collections()).toBe(20)
  expect(await askAt(249)).toBe('collection 20')
  expect(await askAt(250)).toBe('collection 21')
  expect(await askAt(250)).toBe('collection 21')
})

test('a collection that fails does not stop the next one', async () => {
  let failures = 0
  const collected = limitCollections(
    async () => {
      if (failures++ === 0) throw new Error('a collector failed')
      return 'collection'
    },
    () => 0,
  )
  await expect(collected()).rejects.toThrow('a collector failed')
  expect(await collected()).toBe('collection')
})
