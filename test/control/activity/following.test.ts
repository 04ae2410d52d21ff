import { describe, expect, test } from 'vitest'
import { decodeOrSkip, isLoadedSoon, type Unreadable } from '../../../control/activity/records/following.ts'
import type { Decoded } from '../../../kafka/consume/record.ts'
import type { Codec } from '../../../schemas/codec.ts'

describe('a value', () => {
  type Decoding = Decoded<string> | Promise<Decoded<string>>

  function decoding(answer: (text: string) => Decoding) {
    const [values, unreadable]: [string[], Unreadable[]] = [[], []]
    const codec: Pick<Codec<string>, 'decode'> = { decode: (value) => answer(String(value)) }
    const decode = decodeOrSkip(codec, (reason) => unreadable.push(reason))
    const give = (text: string) => decode(Buffer.from(text), (value) => values.push(value))
    return { give, values, unreadable }
  }
  const ok = (value: string): Decoded<string> => ({ ok: true, value })

  test('is passed on at once', () => {
    const { give, values } = decoding(ok)
    give('a')
    expect(values).toEqual(['a'])
  })

  test('is passed on once its schema is known, without delaying others', async () => {
    const { promise, resolve } = Promise.withResolvers<Decoded<string>>()
    const { give, values } = decoding((text) => (text === 'new' ? promise : ok(text)))
    give('new')
    give('a')
    resolve(ok('new'))
    await promise
    expect(values).toEqual(['a', 'new'])
  })

  test('that cannot be decoded is skipped, with the reason', async () => {
    const fault = { ok: false, reason: 'undecodable', message: 'no Avro' } as const
    const later = { ...fault, reason: 'unknown_schema' } as const
    const { give, values, unreadable } = decoding((text) => (text === 'a' ? fault : Promise.resolve(later)))
    give('a')
    give('b')
    await Promise.resolve()
    expect([values, unreadable]).toEqual([[], ['undecodable', 'unknown_schema']])
  })

  test('is skipped while a thousand wait for the registry', async () => {
    const { promise, resolve } = Promise.withResolvers<Decoded<string>>()
    const { give, values, unreadable } = decoding(() => promise)
    for (let index = 0; index < 1_001; index++) give('a')
    expect(unreadable).toEqual(['registry_unreachable'])
    resolve(ok('a'))
    await expect.poll(() => values.length).toBe(1_000)
    give('a')
    await expect.poll(() => values.length).toBe(1_001)
  })
})

describe('data that is not loaded yet', () => {
  test('is loaded in time, or not', async () => {
    const never = new Promise<void>(() => {})
    expect(await isLoadedSoon({ loaded: never, isLoaded: () => true })).toBe(true)
    expect(await isLoadedSoon({ loaded: never, isLoaded: () => false }, 1)).toBe(false)
    let isLoaded = false
    const loaded = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      isLoaded = true
    })
    expect(await isLoadedSoon({ loaded, isLoaded: () => isLoaded })).toBe(true)
  })
})
