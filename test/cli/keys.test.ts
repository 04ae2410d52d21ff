import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { run } from '../../cli/run.ts'
import { readConfig } from '../../config.ts'
import { DERIVED_ROLES } from '../../settings/config-key.ts'
import { aContext } from './in-memory.ts'

async function keys(CONFIG_KEY?: string) {
  const context = aContext({ env: CONFIG_KEY === undefined ? {} : { CONFIG_KEY } })
  const code = await run(['keys'], context)
  return { code, out: context.out.text(), err: context.err.text() }
}

test('sluice keys prints a key with which each role starts, never CONFIG_KEY itself', async () => {
  const given = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64'))
  const { code, out } = await keys(given.join(', '))
  expect(code).toBe(0)
  for (const key of given) expect(out).not.toContain(key)
  const least = { KAFKA_BROKERS: 'a:9092', SCHEMA_REGISTRY_URL: 'http://registry' }
  for (const role of DERIVED_ROLES) {
    const [, CONFIG_KEY] = new RegExp(`^${role}: CONFIG_KEY=(.*)$`, 'm').exec(out) ?? []
    expect(readConfig({ ...least, CONFIG_KEY }, role).configKeys).toEqual(
      readConfig({ ...least, CONFIG_KEY: given.join() }, role).configKeys,
    )
  }
})

test.each([undefined, '', 'too-short', `router.${'A'.repeat(43)}`])(
  'CONFIG_KEY=%s is refused',
  async (key) => {
    const { code, out, err } = await keys(key)
    expect([code, out]).toEqual([1, ''])
    expect(err).toContain('32 bytes in base64')
  },
)
