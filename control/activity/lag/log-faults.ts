import { z } from 'zod'
import { LOG_FAULTS, type Loss } from '../../../kafka/admin/lost-records.ts'
import type { Connection } from '../../../kafka/client.ts'
import { openTail } from '../../../kafka/tables/tail.ts'
import { DELIVERIES, DUE, EVENTS, isRung } from '../../../schemas/topics.ts'
import { isoTime, timeShape } from '../../api/response.ts'

export const faultShape = z
  .strictObject({
    at: timeShape,
    topic: z.string(),
    partition: z.number(),
    cause: z
      .string()
      .describe(
        '`removed`: records were deleted before they were read; `truncated`: Kafka lost the end of the log; `recreated`: the topic was deleted and created again.',
      ),
    from: z.number().describe('The first offset that is gone, or that now holds another record.'),
    lost: z.number().describe('How many offsets the log had there, as far as known.'),
    unread: z.number().describe('How many of them at least one consumer group had not read.'),
    readTo: timeShape.describe(
      'When the last record that a group had already read was written; null if unknown.',
    ),
    seenBy: z.array(z.string()).describe('Consumer groups, `producer`, or others that noticed it.'),
  })
  .meta({ id: 'LogFault' })

export type LogFaultItem = z.infer<typeof faultShape>

export type LogFaults = {
  /** Newest first, at most a hundred. */
  all(): LogFaultItem[]
  close(): Promise<void>
}

const KEPT_MS = 7 * 24 * 3_600_000
const MAX_COUNT = 100
const SAME_MS = 10 * 60_000

type Held = Loss & { seenByAll: string[] }

/** @returns newest first. */
export function withLoss(known: readonly Held[], loss: Loss): Held[] {
  const same = known.filter((held) => isSame(held, loss))
  const fault = same.reduce<Held>(merged, { ...loss, seenByAll: [loss.seenBy] })
  return [fault, ...known.filter((held) => !same.includes(held))]
    .toSorted((a, b) => b.at - a.at)
    .slice(0, MAX_COUNT)
}

/** Of removed records, each group reports those after its own position, so the ranges overlap. */
function isSame(held: Loss, loss: Loss): boolean {
  if (held.topic !== loss.topic || held.partition !== loss.partition || held.cause !== loss.cause)
    return false
  if (Math.abs(held.at - loss.at) >= SAME_MS) return false
  return loss.cause === 'removed' ? held.offset < loss.to && loss.offset < held.to : held.to === loss.to
}

/** Keeps the time of the first report. */
function merged(later: Held, first: Held): Held {
  const fault: Held = {
    ...first,
    lost: Math.max(first.lost, later.lost),
    unread: Math.max(first.unread, later.unread),
    readTo: first.readTo ?? later.readTo,
    seenByAll: [...new Set([...first.seenByAll, ...later.seenByAll])],
  }
  if (first.cause !== 'removed') return fault
  const [offset, to] = [Math.min(first.offset, later.offset), Math.max(first.to, later.to)]
  return { ...fault, offset, to, lost: to - offset, unread: to - offset }
}

const goneFrom = ({ cause, offset, to }: Loss) => (cause === 'removed' ? offset : to)

/**
 * Faults that may explain a missing call or a stuck delivery. Times in ms since 1970.
 * @param openSince when the oldest call with an open delivery was received; undefined: none.
 */
export function relevantFaults(
  faults: readonly LogFaultItem[],
  {
    since = 0,
    openSince = Number.POSITIVE_INFINITY,
  }: { since?: number | undefined; openSince?: number | undefined },
): LogFaultItem[] {
  const from = (topic: string) => {
    if (topic === EVENTS) return since
    return topic === DELIVERIES || topic === DUE || isRung(topic) ? openSince : Number.POSITIVE_INFINITY
  }
  return faults.filter(({ topic, at }) => Date.parse(at ?? '') >= from(topic))
}

export async function followFaults(options: {
  connection: Connection
  onFatal: (error: Error) => void
  now: () => number
}): Promise<LogFaults> {
  const { connection, onFatal, now } = options
  let held: Held[] = []
  const tail = await openTail({
    connection,
    topics: [LOG_FAULTS],
    last: () => 1_000,
    onRecord({ value }) {
      const loss = lossOf(value)
      if (loss) held = withLoss(held, loss)
      else connection.log.warn({ topic: LOG_FAULTS }, 'skipping a log fault record that cannot be read')
    },
    onFatal,
  })
  return {
    all: () => held.filter(({ at }) => now() - at < KEPT_MS).map(shown),
    close: tail.close,
  }
}

const lossShape = z.object({
  at: z.number(),
  topic: z.string(),
  partition: z.number(),
  cause: z.enum(['removed', 'truncated', 'recreated']),
  seenBy: z.string(),
  offset: z.number(),
  to: z.number(),
  lost: z.number(),
  unread: z.number(),
  readTo: z.number().optional(),
})

function lossOf(value: Buffer | null): Loss | undefined {
  try {
    return lossShape.parse(JSON.parse(String(value)))
  } catch {
    return undefined
  }
}

const shown = (held: Held): LogFaultItem => ({
  at: isoTime(held.at),
  topic: held.topic,
  partition: held.partition,
  cause: held.cause,
  from: goneFrom(held),
  lost: held.lost,
  unread: held.unread,
  readTo: isoTime(held.readTo),
  seenBy: held.seenByAll,
})
