import type { IHeaders } from 'kafkajs'
import type { Attributes, Processed, Trace, Tracer } from '../../trace/trace.ts'
import type { Produced } from '../produce/pending.ts'
import type { Ends, Taken } from './record.ts'

type Where<T> = Pick<Processed, 'topic' | 'group' | 'headers'> & {
  describe: ((value: T) => Attributes) | undefined
}

/** The record with what is done for it as a trace, which ends when that does. */
export function inTrace<T>(
  tracer: Pick<Tracer, 'process'>,
  record: Taken<T>,
  { describe, ...where }: Where<T>,
): Taken<T> {
  const { partition, offset } = record
  const trace = tracer.process({
    ...where,
    partition,
    offset,
    describe: describe && (() => describe(record.value)),
  })
  return { ...record, trace, ...ending(trace, record) }
}

/** A function of its own: what ends a record shall not keep its value. */
const ending = (trace: Pick<Trace, 'note' | 'end'>, { settle, release, park }: Ends): Ends => ({
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

/**
 * Sends records as a part of a trace.
 * @param topic as named on the broker.
 * @param produce is given what puts the trace into the headers of a record.
 */
export async function sendIn<R extends { headers?: IHeaders }>(
  trace: Pick<Trace, 'send'>,
  { topic, count }: { topic: string; count: number },
  produce: (traced: (record: R) => R) => Promise<Produced>,
): Promise<Produced> {
  const { headers, end } = trace.send(topic, count)
  const produced = await produce((record) => ({ ...record, headers: { ...record.headers, ...headers } }))
  end(produced)
  return produced
}
