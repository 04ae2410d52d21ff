import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { describe, expect, test } from 'vitest'
import { Analytics, type Options } from '../../../clients/node/index.ts'
import { OPTIONS, readSettings } from '../../../clients/node/settings.ts'
import { thrownBy } from './service.ts'

const key = { writeKey: 'shop-write-key' }
const read = (options: Partial<Record<keyof Options, unknown>>) =>
  readSettings({ ...key, ...options } as Options)

test('the write key alone is enough', () => {
  expect(read({})).toEqual({
    ...key,
    endpoint: 'http://localhost:8080/v1/batch',
    flushAt: 20,
    flushAfter: 5_000,
    maxQueue: 20_000,
    maxQueueBytes: 33_554_432,
    maxRetries: 25,
    retryBase: 100,
    requestTimeout: 15_000,
    closeTimeout: 30_000,
    gzip: true,
    agent: {},
    disable: false,
    closeOnSigterm: false,
    onFailure: undefined,
  })
})

test.each([
  ['http://host:8080', 'http://host:8080/v1/batch'],
  ['http://host:8080/', 'http://host:8080/v1/batch'],
  ['HTTPS://host', 'https://host/v1/batch'],
  ['https://host/collect/', 'https://host/collect/'],
  ['https://host/v1/import?region=eu#top', 'https://host/v1/import?region=eu'],
])('endpoint %s is requested as %s', (endpoint, href) => {
  expect(read({ endpoint })).toMatchObject({ endpoint: href })
})

test.each([
  '',
  'host:8080',
  '/v1/batch',
  'ftp://host/',
  'http:host',
  'http://',
  'http://a b/',
  'http://u:p@host/',
  'http://host:99999/',
  7,
])('%j is no endpoint', (endpoint) => {
  expect(thrownBy(() => read({ endpoint }))).toMatchObject({ code: 'invalid_endpoint' })
})

test('size and interval are aliases of flushAt and flushAfter', () => {
  expect(read({ size: 5, interval: 50 })).toMatchObject({ flushAt: 5, flushAfter: 50 })
  expect(read({ size: 5, flushAt: 5 })).toMatchObject({ flushAt: 5 })
  expect(thrownBy(() => read({ size: 5, flushAt: 6 }))).toMatchObject({ code: 'invalid_option' })
  expect(thrownBy(() => read({ interval: 5, flushAfter: 6 }))).toMatchObject({ code: 'invalid_option' })
})

test('flushAt is at most maxQueue', () => {
  expect(read({ flushAt: 50, maxQueue: 5 })).toMatchObject({ flushAt: 5, maxQueue: 5 })
  expect(read({ maxQueue: 5 })).toMatchObject({ flushAt: 5 })
  expect(read({ flushAt: 5, maxQueue: 50 })).toMatchObject({ flushAt: 5 })
})

test('agent has agents for http, https or both', () => {
  const [http, https] = [new HttpAgent(), new HttpsAgent()]
  expect(read({ agent: { https } }).agent).toEqual({ https })
  expect(read({ agent: { http, https: undefined } }).agent).toEqual({ http })
  for (const agent of ['http://bob:hunter2@proxy/', { https: 'http://bob:hunter2@proxy/' }, { http2: http }])
    expect(thrownBy(() => read({ agent }))).toMatchObject({
      code: 'invalid_option',
      message: expect.not.stringContaining('hunter2'),
    })
})

test.each([null, undefined])('%s counts as not set', (nothing) => {
  const { writeKey: _needed, ...others } = Object.fromEntries(OPTIONS.map((name) => [name, nothing]))
  expect(read(others)).toEqual(read({}))
  expect(read({ size: nothing, flushAt: 5, interval: 7, flushAfter: nothing })).toMatchObject({
    flushAt: 5,
    flushAfter: 7,
  })
  const http = new HttpAgent()
  expect(read({ agent: { http, https: nothing } }).agent).toEqual({ http, https: nothing })
})

test('the error of an invalid endpoint mentions the port', () => {
  expect(thrownBy(() => read({ endpoint: 'http://host:99999/' }))).toMatchObject({
    message:
      'endpoint must be a complete http or https URL such as http://localhost:8080/v1/batch, with a port of at most 65535.',
  })
})

describe('is refused', () => {
  test.each([undefined, null, ''])('the write key %j', (writeKey) => {
    expect(thrownBy(() => read({ writeKey }))).toMatchObject({ code: 'write_key_required' })
  })

  test.each([7, 'with:colon', 'with\nline'])('the write key %j, which is not shown', (writeKey) => {
    const error = thrownBy(() => read({ writeKey }))
    expect(error).toMatchObject({ code: 'invalid_option' })
    expect(String(error)).not.toContain(String(writeKey))
  })

  test.each([
    ['flushAt', 0],
    ['flushAt', 1.5],
    ['flushAt', '20'],
    ['flushAfter', 0],
    ['flushAfter', 2 ** 31],
    ['flushAfter', Number.NaN],
    ['maxQueue', 0],
    ['maxQueue', Number.POSITIVE_INFINITY],
    ['maxQueueBytes', 32_767],
    ['maxRetries', -1],
    ['retryBase', 0],
    ['requestTimeout', 0],
    ['closeTimeout', -1],
    ['gzip', 'yes'],
    ['disable', 'yes'],
    ['closeOnSigterm', 1],
    ['onFailure', 'log'],
  ] as const)('%s %j, by its name', (name, value) => {
    const error = thrownBy(() => read({ [name]: value }))
    expect(error).toMatchObject({ name: 'AnalyticsError', code: 'invalid_option' })
    expect(error).toMatchObject({ message: expect.stringMatching(new RegExp(`^${name} is .* it must be `)) })
  })

  test('an option that there is not, naming those that there are', () => {
    const error = thrownBy(() => read({ flushInterval: 5 } as never))
    expect(error).toMatchObject({
      code: 'invalid_option',
      message: expect.stringMatching(/flushInterval.*flushAfter/),
    })
  })

  test.each([
    [undefined, 'not undefined.'],
    [null, 'not null.'],
    ['shop-write-key', 'not a string.'],
  ])('%j in the place of options', (options, said) => {
    const error = thrownBy(() => readSettings(options as never))
    expect(error).toMatchObject({
      code: 'invalid_option',
      message: expect.stringMatching(new RegExp(`${said}$`)),
    })
    expect(String(error)).not.toContain('shop-write-key')
  })

  test.each(['http://bob:hunter2@host:99999/', 'localhost:8080/v1/batch?writeKey=hunter2'])(
    'the endpoint %j, without showing what is secret in it',
    (endpoint) => {
      const error = thrownBy(() => read({ endpoint }))
      expect(error).toMatchObject({
        code: 'invalid_endpoint',
        message: expect.not.stringContaining('hunter2'),
      })
    },
  )

  test('all of it when the client is made', () => {
    expect(thrownBy(() => new Analytics({ writeKey: '' }))).toMatchObject({ code: 'write_key_required' })
  })
})
