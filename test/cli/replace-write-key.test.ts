import { expect, test } from 'vitest'
import { run } from '../../cli/run.ts'
import { MASK } from '../../settings/mask.ts'
import { shop } from '../control/in-memory.ts'
import { control, NOW, operatorOf } from './in-memory.ts'

async function replacing() {
  const memory = control({ sources: [{ ...shop, labels: { team: 'web' } }] })
  const context = await operatorOf(memory)
  const source = () => memory.settings.sources.get('shop')
  return { context, source, ran: (...args: string[]) => run(['replace-write-key', ...args], context) }
}

const DAY_MS = 86_400_000

test('a source gets a new write key, and the current one works for the overlap', async () => {
  const { context, source, ran } = await replacing()
  expect(await ran('shop', '--overlap', '3650d')).toBe(0)
  const until = new Date(NOW + 3650 * DAY_MS).toISOString()
  const { writeKey } = source() ?? {}
  expect(writeKey).toMatch(/^[\w-]{32}$/)
  expect(context.out.said).toEqual([
    `new write key of shop: ${writeKey}`,
    `The previous key works until ${until}.`,
  ])
  expect(source()).toMatchObject({
    labels: { team: 'web' },
    previousWriteKey: 'shop-write-key',
    previousWriteKeyExpiresAt: until,
  })
})

test('a second replacement does not end a key that still works, unless forced', async () => {
  const { context, source, ran } = await replacing()
  await ran('shop', '--overlap', '3650d')
  const first = source()?.writeKey
  expect(await ran('shop')).toBe(1)
  expect([source()?.writeKey, context.err.text()]).toEqual([first, expect.stringContaining('--force')])
  expect(await ran('shop', '--overlap', '3650d', '--force')).toBe(0)
  expect(source()?.previousWriteKey).toBe(first)
})

test('an overlap of 0 ends the current key at once', async () => {
  const { source, ran } = await replacing()
  expect(await ran('shop', '--overlap', '0', '--json')).toBe(0)
  expect(source()).not.toHaveProperty('previousWriteKey')
  expect(source()?.writeKey).not.toBe('shop-write-key')
})

test('an exported file keeps both keys', async () => {
  const { context, ran, source } = await replacing()
  await ran('shop', '--overlap', '3650d')
  const before = source()
  context.out.said.length = 0
  await run(['export', '--json'], context)
  const file = context.out.text()
  expect(JSON.parse(file).sources[0]).toMatchObject({ writeKey: MASK, previousWriteKey: MASK })
  context.readInput = async () => file
  expect(await run(['apply', '-'], context)).toBe(0)
  expect(source()).toEqual(before)
})

test('a file with a new key and an expiry replaces the key, once', async () => {
  const { context, source } = await replacing()
  const until = '2036-01-01T00:00:00Z'
  const file = { id: 'shop', name: 'Shop', labels: { team: 'web' }, writeKey: 'new-write-key' }
  context.readInput = async () => JSON.stringify({ sources: [{ ...file, previousWriteKeyExpiresAt: until }] })
  expect(await run(['apply', '-'], context)).toBe(0)
  expect(source()).toMatchObject({
    writeKey: 'new-write-key',
    previousWriteKey: 'shop-write-key',
    previousWriteKeyExpiresAt: until,
    version: 4,
  })
  expect(context.out.text()).not.toMatch(/new-write-key|shop-write-key/)
  expect(await run(['apply', '-'], context)).toBe(0)
  expect(source()?.version).toBe(4)
})
