/**
 * Upstream: tulios/kafkajs#715 (open); `connect` and `processData` in src/network/connection.js.
 * Without it: if a broker ends in the middle of a response, its first bytes stay in the buffer and come before the
 * first response of the next socket. The lengths are then wrong, and the process ends with ERR_BUFFER_OUT_OF_BOUNDS.
 * Until: test/kafka/new-socket.test.ts passes without it.
 */
import type { Socket } from 'node:net'
import { prototypeOf } from '../internals.ts'

type Connection = { socket: Socket | undefined; isConnected(): boolean; connect(): Promise<boolean> }

/** Each response begins with its length. */
const LENGTH_BYTES = 4

/** A new socket begins with an empty buffer, and the one before can add nothing to it. */
export function beginSocketsAnew(): void {
  const connection = prototypeOf<Connection>('network/connection')
  const { connect } = connection
  connection.connect = function () {
    if (!this.isConnected() && !this.socket?.connecting) {
      this.socket?.removeAllListeners('data').destroy()
      forgetResponse(this)
    }
    return connect.call(this)
  }
}

export const forgetResponse = (connection: object): void =>
  void Object.assign(connection, { chunks: [], bytesBuffered: 0, bytesNeeded: LENGTH_BYTES })
