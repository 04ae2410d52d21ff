import { expect, test } from 'vitest'
import { createPlanted } from './planted.ts'

const key = Buffer.alloc(32, 'key 7 of the tests').toString('base64')
const older = Buffer.alloc(32, 'key 8 of the tests').toString('base64')

const planted = () => {
  const each = createPlanted()
  each.settings({
    CONTROL_TOKEN: 'an-admin-token-0123',
    CONFIG_KEY: `${key}, ${older}`,
    KAFKA_SASL_PASSWORD: 'käfka "pass" word',
    KAFKA_SSL_KEY: '/etc/sluice/client.key',
    SCHEMA_REGISTRY_URL: 'https://sluice:registry-p%40ss@registry.example/',
    OTEL_EXPORTER_OTLP_HEADERS: 'team=events,api-key=vendor%20key',
    SSH_TOKEN: 'what is none of ours',
  })
  each.given({
    sharedSecret: 's3cret',
    previousSecret: 'before-that',
    webhooks: [{ url: 'https://crm.example/', headers: { Authorization: 'Bearer of-crm', 'X-Team': '***' } }],
    source: { writeKey: 'shop-write-key' },
  })
  return each
}
const base64 = (text: string) => Buffer.from(text).toString('base64')

test.each([
  'an-admin-token-0123',
  key,
  older,
  'käfka "pass" word',
  '{"password":"käfka \\"pass\\" word"}',
  'registry-p@ss',
  'https://sluice:registry-p%40ss@registry.example/',
  'vendor key',
  'key s3cret.',
  'before-that',
  'authorization: Bearer of-crm',
  'shop-write-key',
  `Basic ${base64('shop-write-key:')}`,
  `?writeKey=${encodeURIComponent(key)}`,
])('a secret is heard in %j', (line) => {
  const { heard, leaks } = planted()
  heard(line)
  expect(leaks).toContain(line)
})

test('what holds none is not taken for one that does', () => {
  const { heard, leaks } = planted()
  for (const line of ['/etc/sluice/client.key', 'what is none of ours', '"Authorization":"***"', ''])
    heard(line)
  expect(leaks).toEqual([])
})
