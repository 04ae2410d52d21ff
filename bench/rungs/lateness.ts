import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import type { PreparedSystem } from '../../harness/prepare.ts'
import { DUE } from '../../schemas/topics.ts'
import { recordsWritten } from '../figures/outside.ts'
import { readKey } from './writer.ts'

/** By what records were written for: how late they were in `deliveries.due`, in milliseconds and one more, as histograms begin at 1. */
export type Lateness = ReadonlyMap<string, RecordableHistogram>

/** Reads all of `deliveries.due`; its records' times are those at which the broker had them. */
export async function latenessOf(system: PreparedSystem): Promise<Lateness> {
  const { kafka, named } = system.connection
  const lateness = new Map<string, RecordableHistogram>()
  let left = await recordsWritten(system, DUE)
  const over = Promise.withResolvers<void>()
  if (left === 0) over.resolve()
  const consumer = kafka.consumer({ groupId: named('bench.lateness') })
  await consumer.connect()
  await consumer.subscribe({ topics: [named(DUE)], fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ message: { key, timestamp } }) => {
      const { mark, dueAt } = readKey(String(key))
      const histogram = lateness.get(mark) ?? createHistogram()
      histogram.record(Math.max(0, Number(timestamp) - dueAt) + 1)
      lateness.set(mark, histogram)
      left -= 1
      if (left === 0) over.resolve()
    },
  })
  await over.promise
  await consumer.disconnect()
  return lateness
}
