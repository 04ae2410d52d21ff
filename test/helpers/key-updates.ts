import { createCipheriv, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls'
import { closing } from './cluster.ts'

/** Records made in one turn: all of them take many seconds on a busy machine, and the client runs in this process. */
const PART = 500

type Flood = { answer: string; updates: number }

/**
 * Answers the first data on a TLS 1.3 connection with `answer`, and then with KeyUpdate messages, which Node cannot
 * send: we encrypt them ourselves, with the key that TLS logs (RFC 8446, sections 4.6.3, 5.2 and 7).
 */
export async function keyUpdateReceiver(own: { key: string; cert: string }, flood: Flood) {
  const secureContext = createSecureContext({
    ...own,
    minVersion: 'TLSv1.3',
    ciphers: 'TLS_AES_128_GCM_SHA256',
  })
  let connections = 0
  const sockets = new Set<Socket>()
  const closed = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('error', () => {}) // 'close' follows
    socket.on('close', () => closed.resolve())
    serve(socket, secureContext, flood)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing({
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  })
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return { url: `https://127.0.0.1:${port}/`, connections: () => connections, closed: closed.promise }
}

function serve(socket: Socket, secureContext: SecureContext, { answer, updates }: Flood): void {
  let isOurs = false
  const under = new Duplex({
    read() {},
    write(chunk, _encoding, done) {
      if (isOurs) done()
      else socket.write(chunk, done)
    },
  })
  socket.on('data', (chunk) => under.push(chunk))
  const tls = new TLSSocket(under, { isServer: true, secureContext })
  tls.on('error', () => {})
  let secret: Buffer = Buffer.alloc(0)
  tls.on('keylog', (line) => {
    const [label, , value] = line.toString().trim().split(' ')
    if (label === 'SERVER_TRAFFIC_SECRET_0') secret = Buffer.from(value ?? '', 'hex')
  })
  tls.once('data', async () => {
    isOurs = true
    const records = answer ? [sealed(secret, Buffer.from(answer), { type: 23, sequence: 0 })] : []
    for (let sent = 0; sent < updates; sent++) {
      const sequence = sent === 0 ? records.length : 0
      records.push(sealed(secret, Buffer.from([24, 0, 0, 1, 0]), { type: 22, sequence }))
      secret = expand(secret, 'traffic upd', 32)
      if (sent % PART === 0) await nextTurn()
    }
    socket.write(Buffer.concat(records))
  })
}

function sealed(
  secret: Buffer,
  content: Buffer,
  { type, sequence }: { type: number; sequence: number },
): Buffer {
  const nonce = expand(secret, 'iv', 12)
  nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ sequence) >>> 0, 8)
  const header = Buffer.from([23, 3, 3, 0, 0])
  header.writeUInt16BE(content.length + 1 + 16, 3)
  const cipher = createCipheriv('aes-128-gcm', expand(secret, 'key', 16), nonce).setAAD(header)
  const encrypted = cipher.update(Buffer.concat([content, Buffer.from([type])]))
  return Buffer.concat([header, encrypted, cipher.final(), cipher.getAuthTag()])
}

/** HKDF-Expand-Label without a context, for at most 32 bytes. */
function expand(secret: Buffer, label: string, length: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`)
  const info = Buffer.concat([Buffer.from([0, length, name.length]), name, Buffer.from([0, 1])])
  return createHmac('sha256', secret).update(info).digest().subarray(0, length)
}
