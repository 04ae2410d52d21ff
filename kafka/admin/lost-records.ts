import pRetry from 'p-retry'
import { Counter } from 'prom-client'
import { registry } from '../../process/metrics.ts'
import type { Connection } from '../client.ts'
import type { LogFault } from '../log-faults.ts'
import { whileAway } from './failures.ts'

export const LOG_FAULTS = 'log-faults'

/**
 * JSON in topic `log-faults`. `seenBy` (a consumer group, `producer`, `table`, `tail` or `reader`) was at `offset` and
 * continues at `to`. `lost`: how many offsets are gone, as far as known; `unread`: how many of them it had not read.
 * `readTo`: the time of the last record read. Times in ms since 1970.
 */
export type Loss = Omit<LogFault, 'offset'> & {
  at: number
  seenBy: string
  offset: number
  lost: number
  unread: number
  readTo?: number | undefined
}

/** @param end of the log when last seen. */
export function lossOf({
  cause,
  offset,
  to,
  end = offset,
}: Pick<LogFault, 'cause' | 'offset' | 'to'> & { end?: number | undefined }) {
  const unread = Math.max(0, end - Math.max(offset, to))
  if (cause === 'removed') return { lost: to - offset, unread: to - offset }
  // topics are deleted on purpose: records that were read are not lost
  if (cause === 'recreated') return { lost: unread, unread }
  return { lost: Math.max(end, offset) - to, unread }
}

const labelNames = ['topic', 'cause', 'seen_by'] as const
const registers = [registry]
const faults = new Counter({
  name: 'sluice_log_faults_total',
  help: 'Faults found in the log of a partition: records removed at its start, its end cut off, or the topic recreated.',
  labelNames,
  registers,
})
const records = new Counter({
  name: 'sluice_lost_records_total',
  help: 'Records that Kafka acknowledged and then lost, as far as known. Every reader counts them, so do not add the series up.',
  labelNames,
  registers,
})

const MESSAGES = {
  removed: 'records were removed from Kafka before they were read',
  truncated: 'Kafka has lost the end of a log: acknowledged records are gone',
  recreated: 'a topic was deleted and created again',
}

type ReportedFault = LogFault & { end?: number | undefined; time?: number | undefined }

export function createFaultReporter({
  connection,
  seenBy,
}: {
  connection: Connection
  seenBy: string
}): (fault: ReportedFault) => void {
  return ({ topic: named, partition, cause, offset, to, end, time }) => {
    const topic = connection.plain(named)
    const loss: Loss = {
      at: Date.now(),
      topic,
      partition,
      cause,
      seenBy,
      offset,
      to,
      ...lossOf({ cause, offset, to, end }),
      readTo: time,
    }
    const labels = { topic, cause, seen_by: seenBy }
    faults.inc(labels)
    records.inc(labels, loss.lost)
    connection.log.error(withIsoTime(loss), MESSAGES[cause])
    writerOf(connection)(loss)
  }
}

const withIsoTime = ({ at: _, readTo, ...loss }: Loss) =>
  readTo === undefined ? loss : { ...loss, readTo: new Date(readTo).toISOString() }

/** For up to five minutes: a broker that has just lost records may go away again. */
const RETRY = { ...whileAway, retries: 60, maxRetryTime: 300_000, unref: true }
/** A cut is reported once for each partition. */
const MAX_PENDING = 1_000

type Writer = (loss: Loss) => void
const writers = new WeakMap<Connection, Writer>()

function writerOf(connection: Connection): Writer {
  const writer = writers.get(connection) ?? createWriter(connection)
  writers.set(connection, writer)
  return writer
}

/** Writes what is pending in one request, so that many losses at once are no burden for a broker that comes back. */
function createWriter(connection: Connection): Writer {
  const pending: Loss[] = []
  let isWriting = false

  function drop(count: number, err?: unknown): void {
    connection.log.warn({ err, count }, 'log faults could not be written to topic log-faults')
  }

  async function writeAll(): Promise<void> {
    while (pending.length > 0) {
      const losses = [...pending]
      await send(connection, losses)
      pending.splice(0, losses.length)
    }
  }

  async function write(): Promise<void> {
    isWriting = true
    await pRetry(writeAll, RETRY).catch((err) => drop(pending.splice(0).length, err))
    isWriting = false
  }

  return (loss) => {
    if (pending.length >= MAX_PENDING) return drop(1)
    pending.push(loss)
    if (!isWriting) void write()
  }
}

/** A separate producer delays no other work. */
async function send({ kafka, named }: Connection, losses: readonly Loss[]): Promise<void> {
  const producer = kafka.producer({ allowAutoTopicCreation: false, retry: { retries: 5 } })
  try {
    await producer.connect()
    const messages = losses.map((loss) => ({
      key: `${loss.topic}/${loss.partition}`,
      value: JSON.stringify(loss),
    }))
    await producer.send({ topic: named(LOG_FAULTS), acks: -1, messages })
  } finally {
    await producer.disconnect().catch(() => undefined)
  }
}
