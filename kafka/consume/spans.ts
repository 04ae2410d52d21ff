import type { Attributes, Processed, Trace, Tracer } from '../../trace/trace.ts'
import type { ConsumerRecord, RecordEnds } from './record.ts'

type Where<T> = Pick<Processed, 'topic' | 'group' | 'headers'> & {
  describe: ((value: T) => Attributes) | undefined
}

/** The span ends when the record is settled, released or parked. */
export function inTrace<T>(
  tracer: Pick<Tracer, 'process'>,
  record: ConsumerRecord<T>,
  { describe, ...where }: Where<T>,
): ConsumerRecord<T> {
  const { partition, offset } = record
  const trace = tracer.process({
    ...where,
    partition,
    offset,
    describe: describe && (() => describe(record.value)),
  })
  return { ...record, trace, ...ending(trace, record) }
}

/** Separate, so that the closures do not keep the record's value. */
const ending = (trace: Pick<Trace, 'note' | 'end'>, { settle, release, park }: RecordEnds): RecordEnds => ({
  settle() {
    trace.end()
    settle()
  },
  release() {
    trace.note({ 'sluice.outcome': 'released' })
    trace.end()
    release()
  },
  park(message, reason) {
    trace.end('parked')
    park(message, reason)
  },
})
