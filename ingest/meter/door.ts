import type { Server } from 'node:http'
import { promisify } from 'node:util'
import { Counter, type Registry } from 'prom-client'
import type { Code } from '../codes.ts'
import type { Hold } from '../http/hold.ts'
import { gauge } from './gauge.ts'

/** What operators see of the door itself, whoever comes through it. */
export type DoorMeter = {
  /** An answer goes out. */
  answered(code: Code | 'ok'): void
  /** A connection is refused: too many are open. */
  refusedConnection(): void
  watchConnections(server: Pick<Server, 'getConnections'>): void
  watchHold(hold: Pick<Hold, 'bytes'>): void
}

export function createDoorMeter(register: Registry): DoorMeter {
  const refused = new Counter({
    name: 'sluice_ingest_connections_refused_total',
    help: 'Connections closed because too many were open.',
    registers: [register],
  })
  return {
    answered: countAnswers(register),
    refusedConnection: () => refused.inc(),
    watchConnections(server) {
      const connections = promisify(server.getConnections.bind(server))
      gauge(register, ['sluice_ingest_connections', 'Open connections.'], connections)
    },
    watchHold({ bytes }) {
      const help = 'Bytes of memory that requests hold which are being read or wait for Kafka.'
      gauge(register, ['sluice_ingest_held_bytes', help], bytes)
    },
  }
}

function countAnswers(register: Registry): DoorMeter['answered'] {
  const answers = new Map<string, number>()
  new Counter({
    name: 'sluice_ingest_requests_total',
    help: 'Requests by the code of their answer, ok among them; without probes and preflights.',
    labelNames: ['code'],
    registers: [register],
    collect() {
      this.reset()
      for (const [code, count] of answers) this.inc({ code }, count)
    },
  })
  return (code) => answers.set(code, (answers.get(code) ?? 0) + 1)
}
