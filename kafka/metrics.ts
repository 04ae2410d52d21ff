import { Counter, Gauge, Histogram } from 'prom-client'
import { registry } from '../process/metrics.ts'
import type { Storage } from './admin/storage.ts'
import type { Consumer, Load } from './consume/consume.ts'
import type { Producer } from './produce/produce.ts'

const registers = [registry]

const ack = new Histogram({
  name: 'sluice_kafka_ack_seconds',
  help: 'Time from sending records until all in-sync replicas have acknowledged them.',
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  registers,
})

export const countAck = ({ seconds }: { seconds: number }) => ack.observe(seconds)

const skipped = new Counter({
  name: 'sluice_consumer_skipped_batches_total',
  help: 'Batches that were skipped because they could not be decoded. Only for readers that park nothing: tables, and readers in control.',
  labelNames: ['topic'],
  registers,
})

export const countSkippedBatch = (topic: string) => skipped.inc({ topic })

export function watchProducer({
  queuedBytes,
  stalledMs,
  unwritableMs,
}: Pick<Producer, 'queuedBytes' | 'stalledMs' | 'unwritableMs'>): void {
  new Gauge({
    name: 'sluice_kafka_queue_bytes',
    help: 'Bytes that are waiting for Kafka or being sent.',
    registers,
    collect() {
      this.set(queuedBytes())
    },
  })
  new Gauge({
    name: 'sluice_kafka_stalled_seconds',
    help: 'How long the current send has waited for its acknowledgement, or records for an unwritable partition.',
    registers,
    collect() {
      this.set(Math.max(stalledMs(), unwritableMs()) / 1_000)
    },
  })
}

/** No series when the brokers do not report their disks. */
export function watchRooms({ rooms, shortage }: Pick<Storage, 'rooms' | 'shortage'>): void {
  const gauge = (name: string, help: string, value: 'free' | 'reserve') =>
    new Gauge({
      name,
      help,
      labelNames: ['of'],
      registers,
      collect() {
        this.reset()
        for (const room of rooms()) this.set({ of: room.of }, room[value])
      },
    })
  gauge(
    'sluice_storage_free_bytes',
    'Room for more records: on the fullest disk of a broker (disk), and below STORAGE_LIMIT (limit).',
    'free',
  )
  gauge(
    'sluice_storage_reserve_bytes',
    'How much room must stay free. With less, calls are refused and retries wait.',
    'reserve',
  )
  new Gauge({
    name: 'sluice_storage_full',
    help: '1 while calls are refused and retries wait because space is short.',
    registers,
    collect() {
      this.set(shortage() ? 1 : 0)
    },
  })
}

/** Control measures lag from outside, also for dead processes (control/activity/lag/). */
export function watchConsumers(consumers: readonly Pick<Consumer, 'loads'>[]): void {
  const labelNames = ['group', 'topic'] as const
  const loads = () => consumers.flatMap((consumer) => consumer.loads())
  const gauge = (name: string, help: string, value: (load: Load) => number) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset()
        for (const load of loads()) this.set({ group: load.group, topic: load.topic }, value(load))
      },
    })
  gauge(
    'sluice_consumer_partitions',
    'Partitions of a topic that this process has.',
    ({ partitions }) => partitions,
  )
  gauge(
    'sluice_consumer_unsettled_records',
    'Fetched records that are not settled.',
    ({ unsettled }) => unsettled,
  )
  gauge(
    'sluice_consumer_oldest_unsettled_seconds',
    'Age of the oldest fetched record that is not settled; 0 if there is none. On rungs, records wait until they are due.',
    ({ oldest }) => (oldest === undefined ? 0 : Math.max(0, Date.now() - oldest) / 1_000),
  )
  new Counter({
    name: 'sluice_consumer_parked_total',
    help: 'Records that could not be handled and were parked in topic parked.',
    labelNames,
    registers,
    collect() {
      this.reset()
      for (const { group, topic, parked } of loads()) this.inc({ group, topic }, parked)
    },
  })
}
