import pRetry from 'p-retry'
import { Counter } from 'prom-client'
import { registry } from '../../process/metrics.ts'
import { perObject } from '../../process/per-object.ts'
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
  help: 'Records that Kafka acknowledged and then lost, as far as known. Every reader counts the same loss, so do not sum the series.',
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

/** Does not give up: a broker that has just lost records may go away again. */
const RETRY = { ...whileAway, retries: Number.POSITIVE_INFINITY, unref: true }
/** Further losses are dropped. One cut causes a report for each partition and each reader of it. */
const MAX_PENDING = 1_000

type Writer = (loss: Loss) => void

const writerOf = perObject(
  (connection: Connection): Writer => createLossWriter((losses) => send(connection, losses), connection.log),
)

/** Sends all pending losses in one request, so that many at once do not burden a broker that has just come back. */
export function createLossWriter(
  send: (losses: readonly Loss[]) => Promise<void>,
  log: Pick<Connection['log'], 'warn'>,
): Writer {
  const pending: Loss[] = []
  let isWriting = false

  async function writeAll(): Promise<void> {
    while (pending.length > 0) {
      const losses = [...pending]
      await send(losses)
      pending.splice(0, losses.length)
    }
  }

  async function write(): Promise<void> {
    isWriting = true
    await pRetry(writeAll, RETRY).catch((err) => {
      log.warn(
        { err, count: pending.splice(0).length },
        'log faults could not be written to topic log-faults',
      )
    })
    isWriting = false
    // reported since the last look
    if (pending.length > 0) void write()
  }

  return (loss) => {
    if (pending.length >= MAX_PENDING) {
      log.warn({ topic: loss.topic }, 'a log fault is not written to topic log-faults: too many are waiting')
      return
    }
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
