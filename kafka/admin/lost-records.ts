import { Counter } from 'prom-client'
import { registry } from '../../process/metrics.ts'
import type { Connection } from '../client.ts'
import type { LogFault } from '../log-faults.ts'

export const LOG_FAULTS = 'log-faults'

/**
 * A JSON record of topic `log-faults`. `seenBy`: a consumer group, `producer`, `table`, `tail` or `reader`. `offset`:
 * where it was. `to`: where it goes on. `lost`: how many offsets the log had there, as far as known. `unread`: how
 * many of them `seenBy` has not read. Times in ms since 1970; `readTo` is that of the last record read.
 */
export type Loss = Omit<LogFault, 'offset'> & {
  at: number
  seenBy: string
  offset: number
  lost: number
  unread: number
  readTo?: number | undefined
}

/** @param end of the log, when last seen. */
export function lossOf({
  cause,
  offset,
  to,
  end = offset,
}: Pick<LogFault, 'cause' | 'offset' | 'to'> & { end?: number | undefined }) {
  const unread = Math.max(0, end - Math.max(offset, to))
  if (cause === 'removed') return { lost: to - offset, unread: to - offset }
  // topics are deleted on purpose: what was read is no loss
  if (cause === 'recreated') return { lost: unread, unread }
  return { lost: Math.max(end, offset) - to, unread }
}

const labelNames = ['topic', 'cause', 'seen_by'] as const
const registers = [registry]
const faults = new Counter({
  name: 'sluice_log_faults_total',
  help: 'How often the log of a partition had changed: records removed at its front, its end cut off, or the topic created again.',
  labelNames,
  registers,
})
const records = new Counter({
  name: 'sluice_lost_records_total',
  help: 'Records that Kafka had acknowledged and lost, as far as their offsets are known. Each reader counts them: do not add up.',
  labelNames,
  registers,
})

const MESSAGES = {
  removed: 'records were removed from Kafka before they were read',
  truncated: 'Kafka has lost the end of a log: acknowledged records are gone',
  recreated: 'a topic was deleted and created again',
}

type ReportedFault = LogFault & { end?: number | undefined; time?: number | undefined }

/** @returns a function that reports a fault to the log, the metrics and topic `log-faults`. */
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
    void write(connection, loss)
  }
}

const withIsoTime = ({ at: _, readTo, ...loss }: Loss) =>
  readTo === undefined ? loss : { ...loss, readTo: new Date(readTo).toISOString() }

/** With its own producer: a report must not hold up other work. */
async function write({ kafka, named, log }: Connection, loss: Loss): Promise<void> {
  const producer = kafka.producer({ allowAutoTopicCreation: false, retry: { retries: 5 } })
  try {
    await producer.connect()
    const message = { key: `${loss.topic}/${loss.partition}`, value: JSON.stringify(loss) }
    await producer.send({ topic: named(LOG_FAULTS), acks: -1, messages: [message] })
  } catch (err) {
    log.warn({ err, topic: loss.topic }, 'a log fault could not be written to topic log-faults')
  } finally {
    await producer.disconnect().catch(() => undefined)
  }
}
