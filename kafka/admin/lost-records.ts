import { Counter } from 'prom-client'
import { registry } from '../../process/metrics.ts'
import type { Connection } from '../client.ts'
import type { LogFault } from '../log-faults.ts'

/** Topic of what Kafka itself has lost or removed, as its readers have noticed it. */
export const LOG_FAULTS = 'log-faults'

/**
 * What a log has lost, as somebody has noticed who reads or writes it: a record of topic `log-faults`, in JSON. `topic`: without prefix.
 * `seenBy`: a consumer group, `producer`, `table`, `tail` or `reader`. `offset`: where it was. `to`: where it goes on. `lost`: how many
 * offsets the log had there, as far as it is known. `unread`: how many of them nobody of `seenBy` has read. Times in ms since 1970; `readTo` is
 * that of the last record read.
 */
export type Loss = Omit<LogFault, 'offset'> & {
  at: number
  seenBy: string
  offset: number
  lost: number
  unread: number
  readTo?: number | undefined
}

/** @param end of the log, as it was seen last. @returns how many offsets the log has lost, and how many of them were not read. */
export function lossOf({
  cause,
  offset,
  to,
  end = offset,
}: Pick<LogFault, 'cause' | 'offset' | 'to'> & { end?: number | undefined }) {
  const unread = Math.max(0, end - Math.max(offset, to))
  if (cause === 'removed') return { lost: to - offset, unread: to - offset }
  // a topic that was deleted on purpose: what was read of it is no loss
  if (cause === 'recreated') return { lost: unread, unread }
  return { lost: Math.max(end, offset) - to, unread }
}

const labelNames = ['topic', 'cause', 'seen_by'] as const
const registers = [registry]
const faults = new Counter({
  name: 'sluice_log_faults_total',
  help: 'How often a partition was not what had been read or written: records removed at its front, cut off at its end, or the topic created again.',
  labelNames,
  registers,
})
const records = new Counter({
  name: 'sluice_lost_records_total',
  help: 'Records that Kafka had acknowledged and has lost, as far as their offsets are known. Each reader counts its own: do not add them up.',
  labelNames,
  registers,
})

const WORDS = {
  removed: 'records were removed from Kafka before they were read',
  truncated: 'Kafka has lost the end of a log: records that it had acknowledged are gone',
  recreated: 'a topic was deleted and created again',
}

type Seen = LogFault & { end?: number | undefined; time?: number | undefined }

/** @returns tells of a fault in the log, the metrics and topic `log-faults`. */
export function tellingFaults({
  connection,
  seenBy,
}: {
  connection: Connection
  seenBy: string
}): (seen: Seen) => void {
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
    connection.log.error(readable(loss), WORDS[cause])
    void record(connection, loss)
  }
}

const readable = ({ at: _, readTo, ...loss }: Loss) =>
  readTo === undefined ? loss : { ...loss, readTo: new Date(readTo).toISOString() }

/** With a producer of its own: what tells of a fault must not hold up what goes on. */
async function record({ kafka, named, log }: Connection, loss: Loss): Promise<void> {
  const producer = kafka.producer({ allowAutoTopicCreation: false, retry: { retries: 5 } })
  try {
    await producer.connect()
    const message = { key: `${loss.topic}/${loss.partition}`, value: JSON.stringify(loss) }
    await producer.send({ topic: named(LOG_FAULTS), acks: -1, messages: [message] })
  } catch (err) {
    log.warn({ err, topic: loss.topic }, 'the fault of a log could not be written to topic log-faults')
  } finally {
    await producer.disconnect().catch(() => undefined)
  }
}
