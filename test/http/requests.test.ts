import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { createNetworkLimit, networkOf } from '../../http/rate-limit.ts'
import { dropForwardedPorts, RequestWithPlainNames, withoutHost } from '../../http/requests.ts'
import { collectGarbage } from '../helpers/garbage.ts'

function dropped(forwarded: string): string | undefined {
  const headers = { 'x-forwarded-for': forwarded }
  dropForwardedPorts({ headers })
  return headers['x-forwarded-for']
}

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['203.0.113.7:40001', '203.0.113.7'],
  ['[2001:db8::1]:40001', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['2001:db8::1', '2001:db8::1'],
  ['::ffff:203.0.113.7', '::ffff:203.0.113.7'],
  ['unknown', 'unknown'],
  ['', ''],
  ['x'.repeat(101), 'unknown'],
  [`203.0.113.7, ${'x'.repeat(50_000)}, 203.0.113.8`, '203.0.113.7,unknown,203.0.113.8'],
])('%s in X-Forwarded-For is %s', (given, address) => {
  expect(dropped(given)).toBe(address)
})

test('each address of a chain loses its port, whatever else the header has', () => {
  const entry = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.string().map((text) => text.replaceAll(/[,:[\]]/g, '').trim()),
  )
  const port = fc.integer({ min: 0, max: 65_535 })
  fc.assert(
    fc.property(fc.array(fc.tuple(entry, port), { minLength: 1 }), (entries) => {
      const withPorts = entries.map(([text, number]) => {
        if (/^[\d.]+$/.test(text)) return `${text}:${number}`
        return text.includes(':') ? ` [${text}]:${number} ` : text
      })
      const without = entries.map(([text]) => text)
      expect(dropped(withPorts.join(','))).toBe(without.join(','))
    }),
  )
})

test('without the header nothing is added', () => {
  const headers = {}
  dropForwardedPorts({ headers })
  expect(headers).toEqual({})
})

test('of a long X-Forwarded-For only the last 32 addresses are read', () => {
  const forwarded = (count: number) =>
    Array.from({ length: count }, (_, index) => `10.0.${index >> 7}.${index % 256}`)
  for (const count of [1, 31, 32, 33, 10_000]) {
    const headers = { 'x-forwarded-for': forwarded(count).join(', ') }
    dropForwardedPorts({ headers })
    expect(headers['x-forwarded-for'].split(',').map((text) => text.trim())).toEqual(
      forwarded(count).slice(-32),
    )
  }
})

test.each([
  ['/v1/track?a=http://x/y', '/v1/track?a=http://x/y'],
  ['*', '*'],
  ['http://x/v1/track?a#b', '/v1/track?a#b'],
  ['HTTPS://u:p@[::1]:8080/v1/track', '/v1/track'],
  ['http://x?a', '/?a'],
  ['http://x#a', '/#a'],
  ['http://', '/'],
  ['http:///v1/track', '/v1/track'],
])('the URL %s without its host is %s', (url, path) => {
  expect(withoutHost(url)).toBe(path)
})

test('a header whose name is too long or a number is renamed before it becomes a property', async () => {
  const options = { IncomingMessage: RequestWithPlainNames, maxHeaderSize: 65_536 }
  const server = createServer(options, ({ headers }, response) => response.end(JSON.stringify(headers)))
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const headers = { 'x-a': '1', ['x'.repeat(1_024)]: '2', ['x'.repeat(16_400)]: '3', 'x-b': '4', 1023: '5' }
  const [answer] = await once(request({ port, host: '127.0.0.1', headers, agent: false }).end(), 'response')
  const seen: IncomingHttpHeaders = JSON.parse(String((await answer.toArray()).join('')))
  expect(seen).toMatchObject({ 'x-a': '1', ['x'.repeat(1_024)]: '2', 'x-ignored': '5, 3', 'x-b': '4' })
  expect(Object.keys(seen).every((name) => name.length <= 1_024 && name !== '1023')).toBe(true)
})

test('all IPv6 networks of a site (/48) together have 8 times the limit of one', () => {
  const limit = createNetworkLimit({ perSecond: 1, burst: 1 }, () => 0)
  const passed = (site: string) =>
    Array.from({ length: 256 }, (_, index) => limit.draw(`${site}:${index.toString(16)}::1`, 1)).filter(
      (wait) => wait === undefined,
    )
  expect([passed('2001:db8:1').length, passed('2001:db8:2').length]).toEqual([8, 8])
  expect([limit.wait('2001:db8:1:ffff::1'), limit.wait('2001:db8:3::1'), limit.wait('192.0.2.1')]).toEqual([
    1,
    undefined,
    undefined,
  ])
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['64:ff9b::192.0.2.1', '192.0.2.1'],
  ['64:ff9b:0:0:0:1:c000:201', '64:ff9b:0:0'],
  ['2001:db8:1:2:3:4:5:6%eth0', '2001:db8:1:2'],
])('the network of %s is %s', (ip, network) => {
  expect(networkOf(ip)).toBe(network)
})

test('a network that is remembered keeps nothing else of its header in memory', () => {
  const limit = createNetworkLimit({ perSecond: 1, burst: 1_000 }, () => 0)
  const draw = (index: number) => {
    const forwarded = `${'x'.repeat(50_000)}${','.repeat(32)}203.100.${100 + (index >> 7)}.${100 + (index & 127)}`
    const headers = { 'x-forwarded-for': Buffer.from(forwarded).toString('latin1') }
    dropForwardedPorts({ headers })
    limit.draw(headers['x-forwarded-for'].slice(headers['x-forwarded-for'].lastIndexOf(',') + 1), 1)
  }
  draw(0)
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  for (let index = 0; index < 1_000; index++) draw(index)
  collectGarbage()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(5_000_000)
})
