import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { closeUnread } from '../../http/close-unread.ts'
import { delayResponse, shareConnections } from '../../http/connections.ts'
import { limitUnread } from '../../http/unread.ts'
import { until } from '../helpers/until.ts'

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

const FORWARDED = 'HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 203.0.113.7\r\n'
const GET_LATE = `GET /late ${FORWARDED}\r\n`
const UNFINISHED = `POST /late ${FORWARDED}Content-Length: 9\r\n\r\n`

const BIG = 20_000_000

/** `/`: at once. `/late`: on demand. `/delayed`: never. `/big`: more than fits into socket buffers. */
async function shared(
  most: number,
  trustProxy: readonly string[] = [],
  waiting = { each: 99, all: 0 },
  unreadMs = 600_000,
  unreadBytes = Number.POSITIVE_INFINITY,
) {
  let refused = 0
  let big = 0
  const countUnread = limitUnread(unreadBytes, () => void refused++)
  const late: ServerResponse[] = []
  const server = createServer((request, response) => {
    const ip = String(request.headers['x-forwarded-for'] ?? request.socket.remoteAddress)
    nameClient(response, ip)
    if (request.url === '/late') late.push(response)
    else if (request.url === '/delayed') void delayResponse(response, 600_000)
    else if (request.url === '/big') {
      big += 1
      countUnread({ raw: response, request: { ip } }, BIG)
      response.end(Buffer.alloc(BIG))
    } else response.end('ok')
  })
  const { open, nameClient } = shareConnections(server, {
    most,
    waiting,
    unreadMs,
    trustProxy,
    onRefused: () => void refused++,
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  onTestFinished(() => void server.close().closeAllConnections())

  async function dial(localAddress: string, sent = ''): Promise<Socket> {
    const before = open.size + refused
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    socket.on('error', () => {})
    onTestFinished(() => void socket.destroy())
    await once(socket, 'connect')
    socket.write(sent)
    await until(() => open.size + refused > before)
    return socket
  }

  return { dial, open, late, refused: () => refused, big: () => big }
}

async function isClosed(socket: Socket): Promise<boolean> {
  socket.resume()
  await until(() => socket.readableEnded || socket.destroyed)
  return true
}

/** It is open, and answers. */
async function answers(socket: Socket, sent = GET): Promise<boolean> {
  socket.write(sent)
  const [chunk] = await once(socket, 'data')
  return String(chunk).startsWith('HTTP/1.1 200')
}

test('a network that holds all connections gives its oldest up to another', async () => {
  const { dial, refused } = await shared(3)
  const [first, second, third] = [await dial('127.0.0.2'), await dial('127.0.0.2'), await dial('127.0.0.2')]
  const other = await dial('127.0.0.3')
  expect(await isClosed(first)).toBe(true)
  for (const socket of [second, third, other]) expect(await answers(socket)).toBe(true)
  expect(refused()).toBe(1)
})

test('a new connection from the network that holds the most replaces its oldest idle one', async () => {
  const { dial, late } = await shared(3)
  const busy = await dial('127.0.0.2', GET.replace('/', '/late'))
  await until(() => late.length === 1)
  const [first, other] = [await dial('127.0.0.2'), await dial('127.0.0.3')]
  const second = await dial('127.0.0.2')
  expect(await isClosed(first)).toBe(true)
  for (const socket of [second, other]) expect(await answers(socket)).toBe(true)
  const answered = once(busy, 'data')
  late[0]?.end('late')
  expect(String(await answered)).toContain('late')
})

test('a network with as many connections as the others is refused', async () => {
  const { dial } = await shared(2)
  const held = [await dial('127.0.0.2'), await dial('127.0.0.3')]
  expect(await isClosed(await dial('127.0.0.4'))).toBe(true)
  for (const socket of held) expect(await answers(socket)).toBe(true)
})

test('a connection whose request is being answered is not given up', async () => {
  const { dial, late, open } = await shared(2)
  const waiting = await dial('127.0.0.2', GET.replace('/', '/late'))
  const idle = await dial('127.0.0.2')
  await until(() => late.length === 1)
  expect(await answers(await dial('127.0.0.3'))).toBe(true)
  expect(await isClosed(idle)).toBe(true)
  await until(() => open.size === 2)
  // its network has no other connection left
  expect(await isClosed(await dial('127.0.0.4'))).toBe(true)
  const answered = once(waiting, 'data')
  late[0]?.end('late')
  expect(String(await answered)).toContain('late')
})

test('a network with more than an eighth of the connections, all busy, gives its oldest up to a smaller one', async () => {
  const { dial, late } = await shared(3)
  const LATE = GET.replace('/', '/late')
  const busy = [await dial('127.0.0.2', LATE), await dial('127.0.0.2', LATE), await dial('127.0.0.3', LATE)]
  await until(() => late.length === 3)
  expect(await answers(await dial('127.0.0.4'))).toBe(true)
  expect(await isClosed(busy[0] ?? expect.fail())).toBe(true)
  // networks of one connection each
  for (const response of late.slice(1)) response.end('late')
  for (const socket of busy.slice(1)) expect(String(await once(socket, 'data'))).toContain('late')
})

test('while every network has an eighth or less, requests in progress are not cut off for new connections', async () => {
  const { dial, late } = await shared(16)
  const LATE = GET.replace('/', '/late')
  const networks = Array.from({ length: 16 }, (_, at) => `127.0.1.${at % 8}`)
  const busy = await Promise.all(networks.map((address) => dial(address, LATE)))
  await until(() => late.length === 16)
  expect(await isClosed(await dial('127.0.0.4'))).toBe(true)
  for (const response of late) response.end('late')
  for (const socket of busy) expect(String(await once(socket, 'data'))).toContain('late')
})

test('an answer that is delayed on purpose does not hold its connection', async () => {
  const { dial } = await shared(16)
  const held: Socket[] = []
  for (let network = 2; network < 10; network++)
    for (let index = 0; index < 2; index++)
      held.push(await dial(`127.0.0.${network}`, GET.replace(' / ', ' /delayed ')))
  const other = await dial('127.0.0.99')
  expect(await isClosed(held[0] ?? expect.fail())).toBe(true)
  expect(await answers(other)).toBe(true)
})

test('a connection whose client reads nothing of an answer is closed in time', async () => {
  const { dial, big, open } = await shared(9, [], { each: 99, all: 0 }, 30)
  const unread = await dial('127.0.0.2')
  unread.pause().write(GET.replace('/', '/big'))
  const idle = await dial('127.0.0.2')
  await until(() => big() === 1 && open.size === 1)
  expect(await answers(idle)).toBe(true)
})

describe('answers that clients do not read', () => {
  const limited = (most: number) => shared(99, [], { each: 99, all: 0 }, 600_000, most)
  const bigGet = GET.replace('/', '/big')

  test('cost the network that holds the most its oldest connection, once they exceed the limit', async () => {
    const { dial, big, refused } = await limited(2.5 * BIG)
    const idle = await dial('127.0.0.2')
    const sockets: Socket[] = []
    for (const address of ['127.0.0.3', '127.0.0.2', '127.0.0.2']) {
      const socket = await dial(address, bigGet)
      sockets.push(socket.pause())
      await until(() => big() === sockets.length)
    }
    const [small, oldest, newest] = sockets
    expect(await isClosed(oldest ?? expect.fail())).toBe(true)
    expect([small?.destroyed, newest?.destroyed, refused()]).toEqual([false, false, 1])
    expect(await answers(idle)).toBe(true)
  })

  test('of one IPv6 site count together', async () => {
    const { dial, big, open } = await limited(4.5 * BIG)
    const from = (ip: string) => bigGet.replace('Host', `X-Forwarded-For: ${ip}\r\nHost`)
    const honest = (await dial('127.0.0.2', from('2001:db8:9::1').repeat(2))).pause()
    await until(() => big() === 2)
    const sockets: Socket[] = []
    for (const network of [1, 2, 3]) {
      sockets.push((await dial('127.0.0.3', from(`2001:db8:1:${network}::1`))).pause())
      await until(() => big() === 2 + network)
    }
    await until(() => open.size === 3)
    const kept = [honest, ...sockets.slice(1)].map(({ localPort }) => localPort)
    expect([...open].map(({ remotePort }) => remotePort)).toEqual(kept)
  })

  test('count no more once they are read, or their connection has closed', async () => {
    const { dial, big, refused, open } = await limited(1.5 * BIG)
    const reading = (await dial('127.0.0.2')).resume()
    for (let count = 1; count <= 5; count++) {
      reading.write(bigGet)
      await until(() => big() === count && reading.bytesRead > count * BIG)
    }
    const leaving = await dial('127.0.0.3')
    leaving.pause().write(bigGet.repeat(3))
    await until(() => big() === 8)
    leaving.destroy()
    await until(() => open.size === 1)
    const unread = await dial('127.0.0.4', bigGet)
    await until(() => big() === 9)
    expect([reading.destroyed, unread.destroyed, refused()]).toEqual([false, false, 0])
  })
})

test('idle connections of a trusted proxy are not closed for clients, and each counts as one client', async () => {
  const { dial } = await shared(4, ['127.0.0.8/32'])
  const proxied = [await dial('127.0.0.8'), await dial('127.0.0.8')]
  const [first] = [await dial('127.0.0.2'), await dial('127.0.0.2')]
  const third = await dial('127.0.0.8')
  expect(await isClosed(first)).toBe(true)
  for (const socket of [...proxied, third]) expect(await answers(socket)).toBe(true)
  expect(await isClosed(await dial('127.0.0.3'))).toBe(true)
})

test('when proxies hold all connections, a new one from a proxy replaces the least recently used idle one', async () => {
  const { dial, late } = await shared(3, ['127.0.0.8/31'])
  const [busy, first, second] = [await dial('127.0.0.8'), await dial('127.0.0.8'), await dial('127.0.0.8')]
  busy.write(GET.replace('/', '/late'))
  await until(() => late.length === 1)
  expect(await answers(second)).toBe(true)
  expect(await answers(first)).toBe(true)
  const other = await dial('127.0.0.9')
  expect(await isClosed(second)).toBe(true)
  for (const socket of [first, other]) expect(await answers(socket)).toBe(true)
  const answered = once(busy, 'data')
  late[0]?.end('late')
  expect(String(await answered)).toContain('late')
})

test('while more than an eighth are idle ones from proxies, new connections from any client replace them', async () => {
  const { dial } = await shared(16, ['127.0.0.8/32'])
  const proxied: Socket[] = []
  for (let count = 0; count < 16; count++) proxied.push(await dial('127.0.0.8'))
  const direct = [await dial('127.0.0.2'), await dial('127.0.0.2'), await dial('127.0.0.8')]
  for (const socket of proxied.splice(0, 3)) expect(await isClosed(socket)).toBe(true)
  // three are more than an eighth
  const third = await dial('127.0.0.2')
  expect(await isClosed(direct.shift() ?? expect.fail())).toBe(true)
  for (const socket of [...proxied, ...direct, third]) expect(await answers(socket)).toBe(true)
})

test.each([
  { what: 'are closed during a request', areClosed: true },
  { what: 'carry another request after one', areClosed: false },
])('connections of proxies that $what do not count as idle', async ({ areClosed }) => {
  const { dial, open, late } = await shared(16, ['127.0.0.8/32'])
  const others: Socket[] = []
  for (let client = 1; client <= 3; client++) {
    const sent = GET_LATE.replace('203.0.113.7', `203.0.113.${client}`)
    others.push(await dial('127.0.0.8', areClosed ? sent : sent + sent))
    await until(() => late.length === (areClosed ? client : 2 * client))
  }
  if (areClosed) for (const socket of others) socket.destroy()
  else for (const [at, response] of late.entries()) if (at % 2 === 0) response.end('first')
  await until(() => (areClosed ? open.size === 0 : late.filter(({ closed }) => closed).length === 3))
  // no more than an eighth
  const idle = [await dial('127.0.0.8'), await dial('127.0.0.8')]
  const direct: Socket[] = []
  while (open.size < 16) direct.push(await dial(`127.0.1.${direct.length % 7}`))
  expect(await answers(await dial('127.0.0.2'))).toBe(true)
  expect(await isClosed(direct[0] ?? expect.fail())).toBe(true)
  for (const socket of idle) expect(await answers(socket)).toBe(true)
})

test('a request of a proxy gets 503 before its connection is closed for another, because nginx would avoid the server for 10 s', async () => {
  const { dial, late } = await shared(2, ['127.0.0.2/32'])
  const first = await dial('127.0.0.2', UNFINISHED)
  await dial('127.0.0.2', UNFINISHED)
  await until(() => late.length === 2)
  const other = await dial('127.0.0.3')
  expect(await text(first)).toMatch(/^HTTP\/1.1 503 [\s\S]*\r\n\r\n$/)
  expect(await answers(other)).toBe(true)
})

/** Removes the time limit after which a refused connection is closed. */
function lingerForever(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
}

test('a proxy that still sends the body gets the 503, not a reset', async () => {
  lingerForever()
  const { dial, late, open } = await shared(2, ['127.0.0.2/32'])
  const first = await dial('127.0.0.2', UNFINISHED)
  await dial('127.0.0.2', UNFINISHED)
  await until(() => late.length === 2)
  const other = await dial('127.0.0.3')
  await until(() => open.size === 2)
  for (const piece of 'body') await new Promise((written) => first.write(piece, written))
  expect(await answers(other)).toBe(true)
  expect(await text(first)).toMatch(/^HTTP\/1.1 503 [\s\S]*\r\n\r\n$/)
})

test('a client that leaves refused connections open keeps nobody out', async () => {
  const { dial, late } = await shared(80, ['127.0.0.2/32'])
  await Promise.all(Array.from({ length: 80 }, () => dial('127.0.0.2', UNFINISHED)))
  await until(() => late.length === 80)
  for (const response of late) {
    // unread, so the client does not close
    response.write('late')
    closeUnread(response.req.socket)
  }
  const others = await Promise.all(Array.from({ length: 79 }, (_, at) => dial(`127.0.1.${at}`)))
  for (const other of others) expect(await answers(other)).toBe(true)
})

test('a request behind one that was refused is not handled', async () => {
  lingerForever()
  const { dial, late } = await shared(2, ['127.0.0.2/32'])
  const first = await dial('127.0.0.2', UNFINISHED)
  await dial('127.0.0.2', UNFINISHED)
  await until(() => late.length === 2)
  await dial('127.0.0.3')
  first.write(`123456789${GET_LATE}`)
  expect(await text(first)).toMatch(/^HTTP\/1.1 503 [\s\S]*\r\n\r\n$/)
  await isClosed(first)
  expect([late.length, late[0]?.req.complete]).toEqual([2, false])
})

test.each([
  ['another request', [GET_LATE, UNFINISHED]],
  ['the rest of its own', [UNFINISHED]],
])(
  'a response to a proxy that has begun is cut off and not followed by a 503, while %s comes in',
  async (_, requests) => {
    const { dial, late } = await shared(2, ['127.0.0.2/32'])
    const first = await dial('127.0.0.2', requests.join(''))
    await until(() => late.length === requests.length)
    let received = ''
    first.on('data', (chunk) => {
      received += chunk
    })
    late[0]?.write('begun')
    await until(() => received.endsWith('begun\r\n'))
    await dial('127.0.0.2', UNFINISHED)
    await until(() => late.length === requests.length + 1)
    await dial('127.0.0.3')
    await isClosed(first)
    expect(received).toMatch(/^HTTP\/1.1 200 [\s\S]*begun\r\n$/)
  },
)

test('during a request, a connection of a trusted proxy counts for the client that the proxy names', async () => {
  const { dial, open, late } = await shared(4, ['127.0.0.8/32'])
  const sent = (client: string) =>
    `POST / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${client}\r\nContent-Length: 9\r\n\r\n`
  const idle = await dial('127.0.0.8')
  expect(await answers(idle, GET.replace('\r\n\r\n', '\r\nX-Forwarded-For: 203.0.113.7\r\n\r\n'))).toBe(true)
  // the first is answered, but no body ends
  const held = [await dial('127.0.0.8'), await dial('127.0.0.8'), await dial('127.0.0.8')]
  expect(await answers(held[0] ?? expect.fail(), sent('203.0.113.7'))).toBe(true)
  for (const socket of held.slice(1)) socket.write(sent('203.0.113.7').replace('/', '/late'))
  await until(() => late.length === 2)
  const other = await dial('127.0.0.8')
  await until(() => open.size === 4)
  expect(await answers(other, sent('203.0.113.8'))).toBe(true)
  for (const socket of [idle, other]) expect(socket.destroyed).toBe(false)
})

test('a connection of a proxy is idle again once all its requests are answered and their bodies are there', async () => {
  const { dial, open, late } = await shared(1, ['127.0.0.8/32'])
  const held = await dial('127.0.0.8')
  expect(await answers(held, UNFINISHED.replace('/late', '/'))).toBe(true)
  expect(await isClosed(await dial('127.0.0.8'))).toBe(true)
  held.write(`${'x'.repeat(9)}${GET_LATE}${GET_LATE}`)
  await until(() => late.length === 2)
  late[0]?.end('first')
  await once(held, 'data')
  expect(await isClosed(await dial('127.0.0.8'))).toBe(true)
  late[1]?.end('second')
  await until(() => late[1]?.closed === true)
  const other = await dial('127.0.0.8')
  expect(await isClosed(held)).toBe(true)
  await until(() => open.size === 1)
  expect(await answers(other)).toBe(true)
})

test.each(['', 'X-Forwarded-For: 127.0.0.9\r\n'])(
  'unfinished requests of a client with a trusted address count for that address, also through a proxy: %j',
  async (fields) => {
    const { dial, late } = await shared(4, ['127.0.0.8/31'])
    const unfinished = `POST /late HTTP/1.1\r\nHost: x\r\n${fields}Content-Length: 9\r\n\r\n`
    const held: Socket[] = []
    for (let count = 1; count <= 4; count++) {
      held.push(await dial('127.0.0.8', unfinished))
      await until(() => late.length === count)
    }
    expect(await answers(await dial('127.0.0.2'))).toBe(true)
    expect(await isClosed(held[0] ?? expect.fail())).toBe(true)
  },
)

test('the networks of one IPv6 site cannot take all connections', async () => {
  const { dial, open, late } = await shared(9, ['127.0.0.8/32'])
  const unfinished = (client: string) =>
    `POST /late HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${client}\r\nContent-Length: 9\r\n\r\n`
  const ofSite: Socket[] = []
  for (let network = 1; network <= 9; network++) {
    ofSite.push(await dial('127.0.0.8', unfinished(`2001:db8:1:${network}::1`)))
    await until(() => late.length === network)
  }
  expect(await answers(await dial('127.0.0.2'))).toBe(true)
  expect(await isClosed(ofSite[0] ?? expect.fail())).toBe(true)
  await until(() => open.size === 9)
  // the site has no more than a network now
  expect(await isClosed(await dial('127.0.0.3'))).toBe(true)
  for (const socket of ofSite.slice(1)) expect(socket.destroyed).toBe(false)
})

test.each([
  { busy: '2001:db8:1:1::1', idle: 'the same IPv6 site' },
  { busy: '203.0.113.7', idle: 'an IPv6 site' },
])(
  'busy connections of a network with an eighth or less ($busy) do not protect idle ones of $idle',
  async ({ busy }) => {
    const { dial, late } = await shared(16, ['127.0.0.8/32'])
    const head = (client: string) => `POST /late HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${client}\r\n`
    const held: Socket[] = []
    for (let count = 1; count <= 16; count++) {
      const client = count <= 2 ? busy : `2001:db8:1:${count}::1`
      held.push(await dial('127.0.0.8', `${head(client)}Content-Length: ${count <= 2 ? 0 : 9}\r\n\r\n`))
      await until(() => late.length === count)
    }
    expect(await answers(await dial('127.0.0.2'))).toBe(true)
    expect(await isClosed(held[2] ?? expect.fail())).toBe(true)
    for (const response of late.slice(0, 2)) response.end('late')
    for (const socket of held.slice(0, 2)) expect(String(await once(socket, 'data'))).toContain('late')
  },
)

test('one IPv6 site cannot take all connections, even if all are busy and one of its networks has an eighth', async () => {
  const { dial, late } = await shared(16, ['127.0.0.8/32'])
  const held: Socket[] = []
  for (let count = 1; count <= 16; count++) {
    const client = `2001:db8:1:${count <= 2 ? 1 : count}::1`
    held.push(await dial('127.0.0.8', `GET /late HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${client}\r\n\r\n`))
    await until(() => late.length === count)
  }
  expect(await answers(await dial('127.0.0.2'))).toBe(true)
  expect(String(await once(held[0] ?? expect.fail(), 'data'))).toContain(' 503 ')
})

test('a closed connection makes room', async () => {
  const { dial, open } = await shared(1)
  const first = await dial('127.0.0.2')
  first.destroy()
  await until(() => open.size === 0)
  expect(await answers(await dial('127.0.0.2'))).toBe(true)
})

test('a connection whose client does not read its response makes room for another', async () => {
  const { dial, big, open } = await shared(2)
  const unread = [await dial('127.0.0.2'), await dial('127.0.0.2')]
  for (const socket of unread) socket.pause().write(GET.replace('/', '/big'))
  await until(() => big() === 2)
  expect(await answers(await dial('127.0.0.3'))).toBe(true)
  await until(() => open.size === 2)
})

test('a connection with too many waiting requests is closed', async () => {
  const { dial, late } = await shared(9, [], { each: 2, all: 0 })
  const LATE = GET.replace('/', '/late')
  const socket = await dial('127.0.0.2', LATE + LATE)
  await until(() => late.length === 2)
  for (const response of late) response.end('late')
  await until(() => late.every(({ writableFinished }) => writableFinished))
  socket.resume().write(LATE + LATE)
  await until(() => late.length === 4)
  socket.write(LATE)
  expect(await isClosed(socket)).toBe(true)
})

test('connections with several waiting requests are closed only while too many wait in all', async () => {
  const { dial, late } = await shared(9, [], { each: 2, all: 5 })
  const LATE = GET.replace('/', '/late')
  const patient = await dial('127.0.0.3', LATE)
  const first = await dial('127.0.0.2', LATE + LATE + LATE + LATE)
  await until(() => late.length === 5)
  const second = await dial('127.0.0.2', LATE + LATE)
  await until(() => late.length === 7)
  second.write(LATE)
  expect(await isClosed(second)).toBe(true)
  // the closed one's requests no longer count
  first.destroy()
  const third = await dial('127.0.0.2', LATE + LATE + LATE + LATE)
  await until(() => late.length === 12)
  for (const response of late) response.end('late')
  expect(await once(third, 'data').then(String)).toMatch(/^HTTP\/1.1 200/)
  expect(await once(patient, 'data').then(String)).toMatch(/^HTTP\/1.1 200/)
})
