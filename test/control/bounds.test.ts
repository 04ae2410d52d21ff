import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { BOUNDS } from '../../control/http/bounds.ts'
import { until } from '../helpers/until.ts'
import { ADMIN, api } from './api.ts'
import { head, listen } from './wire.ts'

/** The API on a port of its own. @returns what opens a connection to it and sends something. */
async function listening(bounds: Partial<typeof BOUNDS>) {
  const { app } = api({}, { bounds: { ...BOUNDS, checkMs: 20, ...bounds } })
  return listen(app)
}

const posting = (length: number) =>
  head('POST /api/session HTTP/1.1', { 'Content-Type': 'application/json', 'Content-Length': String(length) })

test('many who begin to sign in and never end are all answered and let go', async () => {
  const open = await listening({ requestMs: 300 })
  const sockets = Array.from({ length: 400 }, () => open(`${posting(4_000)}${'x'.repeat(3_994)}`))
  const answers = await Promise.all(sockets.map(text))
  expect(new Set(answers.map((answer) => answer.slice(0, 12)))).toEqual(new Set(['HTTP/1.1 408']))
  expect(answers[0]).toContain('"code":"request_timeout"')
})

test('so are those who do not even end their headers', async () => {
  const open = await listening({ headersMs: 200 })
  const sockets = Array.from({ length: 50 }, () => open('POST /api/session HTTP/1.1\r\nHost: sluice\r\n'))
  for (const answer of await Promise.all(sockets.map(text))) expect(answer).toMatch(/^HTTP\/1.1 408 /)
})

test('who announces more than a token has is answered before sending it', async () => {
  const open = await listening({})
  const socket = open(posting(1024 * 1024))
  const [chunk] = await once(socket, 'data')
  expect(String(chunk)).toMatch(/^HTTP\/1.1 413 [\s\S]*"body_too_large".* 4 KB/)
})

test('who has been refused and goes on sending is let go', async () => {
  const open = await listening({ requestMs: 300 })
  const headers = { 'Content-Type': 'text/plain', 'Transfer-Encoding': 'chunked' }
  const socket = open(head('PUT /api/audiences/vip/members HTTP/1.1', headers))
  const [chunk] = await once(socket, 'data')
  expect(String(chunk)).toMatch(/^HTTP\/1.1 401 /)
  await once(socket, 'close')
})

describe('an upload of one who has the token', () => {
  /** With less of a body than it announces. */
  const putting = (path: string) =>
    head(`PUT ${path} HTTP/1.1`, {
      Authorization: `Bearer ${ADMIN}`,
      'Content-Type': 'application/json',
      'Content-Length': '10',
    })

  test('may take longer', async () => {
    const open = await listening({ headersMs: 50, requestMs: 100, uploadMs: 600_000 })
    let isOver = false
    const upload = open(putting('/api/traits/score/values')).on('data', () => {
      isOver = true
    })
    expect(await text(open(putting('/api/sources/shop')))).toMatch(/^HTTP\/1.1 408 /)
    expect([isOver, upload.readyState]).toEqual([false, 'open'])
  })

  test('may not take for ever', async () => {
    const open = await listening({ headersMs: 50, requestMs: 100, uploadMs: 700 })
    const began = performance.now()
    expect(await text(open(putting('/api/traits/score/values')))).toMatch(/^HTTP\/1.1 408 /)
    expect(performance.now() - began).toBeGreaterThan(600)
  })
})

test('a connection above the limit is closed at once, and one is taken again when another has ended', async () => {
  const open = await listening({ connections: 3 })
  const held = [open(''), open(''), open('')]
  await Promise.all(held.map((socket) => once(socket, 'connect')))
  await until(async () => {
    const [fourth] = [open('GET /livez HTTP/1.1\r\nHost: sluice\r\n\r\n')]
    return (await text(fourth)) === ''
  })
  held[0]?.destroy()
  await until(async () => {
    const again = open('GET /livez HTTP/1.1\r\nHost: sluice\r\nConnection: close\r\n\r\n')
    return (await text(again).catch(() => '')).startsWith('HTTP/1.1 200')
  })
})
