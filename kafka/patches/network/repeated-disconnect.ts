/**
 * Upstream: no issue; `disconnect` in src/network/connection.js.
 * Without it: a consumer whose topic is missing restarts again and again. Each time it adds listeners to sockets that
 * are already closed. That leaks memory, and Node warns (MaxListenersExceededWarning).
 * Until: test/kafka/repeated-disconnect.test.ts passes without it.
 */
import type { Socket } from 'node:net'
import { prototypeOf } from '../internals.ts'

type Connection = { socket: Socket | undefined; disconnect(): Promise<boolean> }

export function forgetClosedSockets(): void {
  const connection = prototypeOf<Connection>('network/connection')
  const { disconnect } = connection
  connection.disconnect = async function () {
    const result = await disconnect.call(this)
    // `unref` of a closed socket waits for a connection that never comes
    if (this.socket?.destroyed) this.socket.removeAllListeners('connect')
    return result
  }
}
