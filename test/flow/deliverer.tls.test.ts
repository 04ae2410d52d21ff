import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../../local/ports.ts'
import { aCertificate, type Certificate, hasOpenssl, tlsReceiver } from '../helpers/certificate.ts'
import { keyUpdateReceiver } from '../helpers/key-updates.ts'
import { aPoster } from '../helpers/poster.ts'
import { raw } from '../helpers/raw-receiver.ts'
import { until } from '../helpers/until.ts'

const LIMIT_MS = 400
// long: only slow answers may time out
const post = (url: string, ca?: string[], limitMs = 30_000) =>
  aPoster({ limitMs, allow: ['127.0.0.0/8', '::1/128'], ca }).post({
    webhook: 'crm',
    urlIndex: 0,
    url,
    headers: {},
    body: '{"a":1}',
    retryOn: [],
  })

const right: Certificate = { names: 'IP:127.0.0.1', days: [-1, 1], selfSigned: false }

describe.skipIf(!hasOpenssl)('a certificate', () => {
  test('signed by a trusted root for this host is valid', async () => {
    const { root, ...own } = await aCertificate(right)
    const receiver = await tlsReceiver(own)
    expect((await post(receiver.url, [root])).outcome).toEqual({ outcome: 'delivered', status: 200 })
    expect(receiver.requests()).toBe(1)
  })

  test.each([
    ['that has expired', { days: [-3, -1] as [number, number] }, 'tls_expired'],
    ['that is not valid yet', { days: [1, 3] as [number, number] }, 'tls_not_yet_valid'],
    ['for another host', { names: 'DNS:elsewhere.example' }, 'tls_wrong_host'],
    ['for another address', { names: 'IP:127.0.0.2' }, 'tls_wrong_host'],
    [
      'that signs itself, trusted, for another host',
      { names: 'DNS:a.example', selfSigned: true },
      'tls_wrong_host',
    ],
  ])('%s is refused, and no request is sent', async (_, change, code) => {
    const { root, ...own } = await aCertificate({ ...right, ...change })
    const receiver = await tlsReceiver(own)
    expect((await post(receiver.url, [root])).outcome).toEqual({ outcome: 'refused', code })
    expect(receiver.requests()).toBe(0)
  })

  test.each([
    ['that signs itself', true, false, 'tls_self_signed'],
    ['of a root that nobody knows', false, false, 'tls_untrusted'],
    ['that comes with its unknown root', false, true, 'tls_self_signed'],
  ])('%s is refused, and no request is sent', async (_, selfSigned, withRoot, code) => {
    const { key, cert, root } = await aCertificate({ ...right, selfSigned })
    const receiver = await tlsReceiver({ key, cert: withRoot ? cert + root : cert })
    expect((await post(receiver.url)).outcome).toEqual({ outcome: 'refused', code })
    expect(receiver.requests()).toBe(0)
  })

  test('is asked for by the host without the dot at its end, which SNI does not allow', async () => {
    const { root, ...own } = await aCertificate({ ...right, names: 'DNS:localhost' })
    const asked: string[] = []
    const { url } = await tlsReceiver({
      ...own,
      SNICallback(name, done) {
        asked.push(name)
        done(null)
      },
    })
    const { outcome } = await post(url.replace('127.0.0.1', 'localhost.'), [root])
    expect([outcome, asked]).toEqual([{ outcome: 'delivered', status: 200 }, ['localhost']])
  })

  test('for another host is refused even if a dot ends the name of the host', async () => {
    const { root, ...own } = await aCertificate({ ...right, names: 'DNS:elsewhere.example' })
    const { url, requests } = await tlsReceiver(own)
    const { outcome } = await post(url.replace('127.0.0.1', 'localhost.'), [root])
    expect([outcome, requests()]).toEqual([{ outcome: 'refused', code: 'tls_wrong_host' }, 0])
  })

  test('of one receiver does not validate another one on the same host', async () => {
    const good = await aCertificate(right)
    const first = await tlsReceiver({ key: good.key, cert: good.cert })
    const { key, cert } = await aCertificate({ ...right, selfSigned: true })
    const second = await tlsReceiver({ key, cert })
    const poster = aPoster({ limitMs: 30_000, allow: ['127.0.0.0/8'], ca: [good.root] })
    const outcomes = []
    for (const { url } of [first, second, first])
      outcomes.push(
        (await poster.post({ webhook: 'crm', urlIndex: 0, url, headers: {}, body: '{}', retryOn: [] }))
          .outcome,
      )
    const delivered = { outcome: 'delivered', status: 200 }
    expect(outcomes).toEqual([delivered, { outcome: 'refused', code: 'tls_self_signed' }, delivered])
    expect(second.requests()).toBe(0)
  })

  test('is checked again once it has expired, even if the receiver would resume the session', async () => {
    const { root, ...own } = await aCertificate(right)
    const renewed = await aCertificate({ ...right, days: [-1, 30] })
    const resumed: boolean[] = []
    const server = createHttpsServer(own, (request, response) => {
      resumed.push(request.socket instanceof TLSSocket && request.socket.isSessionReused())
      response.setHeader('connection', 'close')
      response.end()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    // a TCP server's address is an object
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const poster = aPoster({ limitMs: 30_000, allow: ['127.0.0.0/8'], ca: [root, renewed.root] })
    const postOnce = async () => {
      const request = { webhook: 'crm', urlIndex: 0, url, headers: {}, body: '{}', retryOn: [] }
      expect((await poster.post(request)).outcome).toEqual({ outcome: 'delivered', status: 200 })
      return resumed.at(-1)
    }
    await until(postOnce)
    // only our clock: for OpenSSL the certificate is still valid, so a full handshake succeeds
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * 24 * 3_600_000 })
    onTestFinished(() => void vi.useRealTimers())
    expect(await postOnce()).toBe(false)
    server.setSecureContext(renewed)
    // sessions are resumed again
    await until(postOnce)
  })
})

const https = (url: string) => url.replace('http:', 'https:')

describe('a failed TLS handshake is retried', () => {
  test('with plain HTTP on the port', async () => {
    const server = createServer((_, response) => response.end())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const address = server.address()
    const url = `https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`
    expect((await post(url)).outcome).toEqual({ outcome: 'retry', code: 'tls_handshake' })
  })

  test('with another protocol that speaks first', async () => {
    const url = await raw((socket) => socket.write('220 mail.example ESMTP\r\n'))
    expect((await post(https(url))).outcome).toEqual({ outcome: 'retry', code: 'tls_handshake' })
  })

  test.skipIf(!hasOpenssl)('with no TLS version in common', async () => {
    const { root, ...own } = await aCertificate(right)
    const old = { ...own, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' } as const
    const receiver = await tlsReceiver(old)
    expect((await post(receiver.url, [root])).outcome).toEqual({ outcome: 'retry', code: 'tls_handshake' })
  })

  test('when the connection closes during the handshake', async () => {
    const ends = await raw((socket) => socket.once('data', () => socket.end()))
    const resets = await raw((socket) => socket.once('data', () => socket.resetAndDestroy()))
    for (const url of [ends, resets])
      expect((await post(https(url))).outcome).toEqual({ outcome: 'retry', code: 'ECONNRESET' })
  })

  test('when the receiver stays silent until the time limit', async () => {
    const { outcome, durationMs } = await post(https(await raw(() => undefined)), undefined, LIMIT_MS)
    expect(outcome).toEqual({ outcome: 'retry', code: 'timeout' })
    expect(durationMs).toBeGreaterThanOrEqual(LIMIT_MS - 5)
  })
})

test.skipIf(!hasOpenssl)('a receiver that sends endless session tickets is cut off', async () => {
  const { key, cert, root } = await aCertificate(right)
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  await Promise.all([writeFile(join(folder, 'key.pem'), key), writeFile(join(folder, 'cert.pem'), cert)])
  const port = await freePort()
  const files = ['-key', join(folder, 'key.pem'), '-cert', join(folder, 'cert.pem')]
  const flood = ['-tls1_3', '-num_tickets', '2000', '-quiet']
  const server = spawn('openssl', ['s_server', '-accept', `127.0.0.1:${port}`, ...files, ...flood])
  onTestFinished(async () => {
    server.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  })
  await until(() => isOpen(port))
  const { outcome } = await post(`https://127.0.0.1:${port}/`, [root])
  expect(outcome).toEqual({ outcome: 'retry', code: 'protocol_error' })
})

const isOpen = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.on('error', () => resolve(false)).on('close', () => resolve(false))
    socket.setTimeout(500, () => socket.destroy()).on('connect', () => socket.destroy())
  })

describe.skipIf(!hasOpenssl)('a receiver that floods us with TLS records that carry no data', () => {
  const aPost = (url: string) => ({ webhook: 'crm', urlIndex: 0, url, headers: {}, body: '{}', retryOn: [] })
  const failed = { outcome: 'retry', code: 'protocol_error' }

  test.each([
    ['instead of an answer', '', failed],
    [
      'after the start of its body',
      'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx',
      { outcome: 'delivered', status: 200 },
    ],
  ])('%s is cut off before the time limit, and then not contacted', async (_, answer, expected) => {
    const { root, ...own } = await aCertificate(right)
    const receiver = await keyUpdateReceiver(own, { answer, updates: 12_000 })
    const poster = aPoster({ limitMs: 90_000, allow: ['127.0.0.0/8'], ca: [root] })
    const first = await poster.post(aPost(receiver.url))
    expect(first.outcome).toEqual(expected)
    await receiver.closed
    await until(async () => {
      const { outcome, sent } = await poster.post(aPost(receiver.url))
      return !sent && outcome.outcome === 'retry'
    })
    expect(receiver.connections()).toBe(1)
  })

  test('is not a receiver whose connection had many answers before it closed', async () => {
    const { root, ...own } = await aCertificate(right)
    let count = 0
    const server = createHttpsServer(own, (_request, response) => {
      count += 1
      response.setHeader('connection', count === 40 ? 'close' : 'keep-alive')
      response.end(Buffer.alloc(15_000))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const poster = aPoster({ limitMs: 30_000, allow: ['127.0.0.0/8'], ca: [root] })
    // a TCP server's address is an object
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const answers = []
    for (let post = 0; post < 42; post++) {
      const answer = await poster.post(aPost(url))
      await answer.response
      answers.push(answer)
    }
    expect(answers.map(({ outcome }) => outcome)).toEqual(
      Array(42).fill({ outcome: 'delivered', status: 200 }),
    )
    expect(answers.filter(({ isNew }) => isNew)).toHaveLength(2)
    server.closeAllConnections()
  })

  test('with a kilobyte of them gets its requests', async () => {
    const { root, ...own } = await aCertificate(right)
    const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'
    const receiver = await keyUpdateReceiver(own, { answer, updates: 40 })
    const poster = aPoster({ limitMs: 30_000, allow: ['127.0.0.0/8'], ca: [root] })
    expect((await poster.post(aPost(receiver.url))).outcome).toEqual({ outcome: 'delivered', status: 200 })
  })
})
