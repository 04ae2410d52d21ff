import { expect, test } from 'vitest'
import { readConfig } from '../../config.ts'
import { addressesOf, childEnvironment, readSettings } from '../../local/settings.ts'
import { banner } from '../../local/terminal.ts'

const chosen = {
  brokers: '127.0.0.1:9092',
  registryUrl: 'http://127.0.0.1:8085/apis/ccompat/v7',
  ports: {
    INGEST_PORT: 1,
    CONTROL_PORT: 2,
    ROUTER_PORT: 3,
    DELIVERER_PORT: 4,
    INGEST_METRICS_PORT: 5,
    CONTROL_METRICS_PORT: 6,
  },
  keys: {
    CONTROL_TOKEN: 'a-token-of-our-own',
    CONTROL_VIEW_TOKEN: 'a-view-token-of-our-own',
    CONFIG_KEY: Buffer.alloc(32, 'made by npm start').toString('base64'),
  },
}

const environmentFor = (env: NodeJS.ProcessEnv) => childEnvironment(readSettings(env, []), chosen)

test('with an empty environment, the processes get all required settings, on loopback', () => {
  const config = readConfig(environmentFor({}), 'control')
  expect(config).toMatchObject({ host: '127.0.0.1', port: 2, tokens: { admin: 'a-token-of-our-own' } })
  expect(config.egress.allow).toEqual(['127.0.0.0/8', '::1/128'])
})

test('the environment overrides generated values', () => {
  const env = environmentFor({ CONTROL_TOKEN: 'the-token-of-the-user', HOST: '0.0.0.0', TOPIC_PREFIX: 'x.' })
  expect(env).toMatchObject({ CONTROL_TOKEN: 'the-token-of-the-user', HOST: '0.0.0.0', TOPIC_PREFIX: 'x.' })
  expect(addressesOf(env)).toMatchObject({
    ingest: 'http://localhost:1',
    controlToken: 'the-token-of-the-user',
  })
})

test('for localhost, the ports of 127.0.0.1 are checked, where the processes listen', () => {
  expect(readSettings({ HOST: 'localhost' }, []).host).toBe('127.0.0.1')
  expect(readSettings({ HOST: '::1' }, []).host).toBe('::1')
})

test('TLS and SASL need brokers and a registry of your own', () => {
  const KAFKA_BROKERS = 'kafka:9093'
  const own = { KAFKA_BROKERS, SCHEMA_REGISTRY_URL: 'http://registry' }
  const sasl = { KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'a', KAFKA_SASL_PASSWORD: 'b' }
  for (const secured of [{ KAFKA_SSL: 'true' }, sasl]) {
    expect(() => readSettings(secured, [])).toThrow(/^KAFKA_BROKERS is not set/)
    expect(() => readSettings({ ...secured, KAFKA_BROKERS }, [])).toThrow(/^SCHEMA_REGISTRY_URL is not set/)
    expect(readSettings({ ...secured, ...own }, [])).toMatchObject({ kafkaBrokers: KAFKA_BROKERS })
  }
  expect(readSettings({ KAFKA_SSL: 'false', KAFKA_BROKERS }, []).registryUrl).toBeUndefined()
})

test('several replicas need brokers of your own', () => {
  expect(() => readSettings({ REPLICATION: '3' }, [])).toThrow(/^REPLICATION is 3/)
  expect(readSettings({ REPLICATION: '3', KAFKA_BROKERS: 'kafka:9092' }, []).demo).toBe(false)
})

test('an empty EGRESS_ALLOW allows nothing', () => {
  const env = environmentFor({ EGRESS_ALLOW: '' })
  expect(readConfig(env, 'deliverer').egress.allow).toEqual([])
  expect(banner(addressesOf(env))).not.toContain('EGRESS_ALLOW')
})

test('the banner names the address of the console with single sign-on', () => {
  const env = environmentFor({
    ...{ OIDC_ISSUER: 'https://id.example.com', OIDC_CLIENT_ID: 'sluice', OIDC_CLIENT_SECRET: 'secret' },
    ...{ OIDC_ADMINS: 'ann@example.com', CONSOLE_URL: 'http://localhost:8081' },
  })
  const text = banner(addressesOf(env))
  expect(text).toContain(
    'console    http://localhost:8081    open in a browser and sign in with single sign-on',
  )
})

test('a relative data folder is below the checkout, an absolute one is used as is', () => {
  const root = new URL('../..', import.meta.url).pathname
  expect(readSettings({}, []).dataFolder).toBe(`${root}.sluice`)
  expect(readSettings({ SLUICE_DATA: '/var/data' }, []).dataFolder).toBe('/var/data')
})

test('the banner has every address and the token, but no password', () => {
  const env = { ...environmentFor({}), SCHEMA_REGISTRY_URL: 'http://user:secret@registry:8085/x' }
  const text = banner(addressesOf(env))
  for (const part of [
    'sluice ready',
    'http://127.0.0.1:1 ',
    'http://127.0.0.1:2 ',
    '9092',
    'a-token-of-our-own',
  ])
    expect(text).toContain(part)
  const metrics = [...text.matchAll(/:(\d)\/metrics {4}(\w+)$/gm)].map(([, port, role]) => [port, role])
  expect(metrics).toEqual([
    ['5', 'ingest'],
    ['6', 'control'],
    ['3', 'router'],
    ['4', 'deliverer'],
  ])
  expect(text).not.toContain('secret')
})

test('the banner of an empty system has commands to try, including a receiver; later it has none', () => {
  const addresses = addressesOf(environmentFor({}))
  const text = banner(addresses, { receiverPort: 9001 })
  for (const part of ['.listen(9001)', '"url": "http://127.0.0.1:9001/"', ':1/v1/track', ':2/api/sources'])
    expect(text).toContain(part)
  expect(banner(addresses)).not.toMatch(/Try it|curl|\n\n\n/)
})
