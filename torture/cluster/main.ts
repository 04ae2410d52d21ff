import type { IncomingHttpHeaders } from 'node:http'
import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import got from 'got'
import { readConfig } from '../../config.ts'
import { sizeOf } from '../../harness/command-line.ts'
import { type OwnCluster, startOwnCluster } from '../../harness/kafka/broker.ts'
import type { Gone } from '../../harness/kafka/disk.ts'
import { watchBrokers } from '../../harness/kafka/partitions.ts'
import { startOwnRegistry } from '../../harness/kafka/stack.ts'
import { type OpenLoad, startOpenLoad } from '../../harness/open-load.ts'
import { type Receiver, startReceiver } from '../../harness/receiver.ts'
import { writeSection } from '../../harness/results.ts'
import { scratchFolder } from '../../harness/scratch.ts'
import { until } from '../../harness/until.ts'
import { connect } from '../../kafka/client.ts'
import { createLog } from '../../process/log.ts'
import { DELIVERIES } from '../../schemas/topics.ts'
import type { Role } from '../../settings/config-key.ts'
import { type Account, account, type Cut, holds } from '../account.ts'
import { destination } from '../destinations.ts'
import { runProgram, say } from '../program.ts'
import { type Kafka, openKafka, type Topics } from '../read.ts'
import { environment } from '../sluice.ts'
import { trailText } from '../trail.ts'
import { type Fault, faults } from './faults.ts'
import { type Instance, startInstances } from './instances.ts'
import { type Arrival, type Phase, pausesIn, report, type Seen } from './report.ts'

const USAGE = `npm run cluster             three brokers and two of each process, one fault after another under load; measures pauses of deliveries
  --rate N      calls a second (default: 200)
  --only TEXT   only the faults whose names have this
  --write       puts the result into bench/RESULTS.md
`

const COPIES = 2
const DESTINATIONS = ['one', 'other']
const WRITE_KEY = 'cluster-write-key'
const CALM_MS = 5_000
/** Calls in flight at a fault count for it, not for the phase before. */
const UNDER_WAY_MS = 2_000
/** The time limit for all calls to be accepted. */
const ACCEPT_MS = 120_000
const SETTLE_MS = 120_000

function options() {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ options: { rate: text, only: text, write: { type: 'boolean' } } })
  const { rate = '200', only = '', write = false } = values
  return { perSecond: sizeOf('--rate', rate), only, write }
}

async function run({ perSecond, only, write }: ReturnType<typeof options>): Promise<boolean> {
  await using closing = new AsyncDisposableStack()
  const system = await startSystem(closing)
  const { cluster, env, arrivals, instances } = system
  await makeSettings(system)
  const kafka = openKafka({ env })
  const log = createLog({ role: 'start', level: 'silent' })
  const connection = connect(readConfig(env, 'router').kafka, { clientId: 'cluster', log })
  const brokers = closing.adopt(await watchBrokers(connection, cluster), (it) => it.close())
  say(`${cluster.nodes.length} brokers and ${COPIES} of each process are ready; ${perSecond} calls a second`)

  const load = startOpenLoad({ urls: urlsOf(instances, 'ingest'), writeKey: WRITE_KEY, perSecond })
  await sleep(CALM_MS) // until late compilation is done
  const seen: Seen = { arrivals, calls: load.calls, destinations: DESTINATIONS }
  const cuts: Cut[] = []
  const onGone = async (gone: readonly Gone[]) => void cuts.push(...(await kafka.taken('deliveries', gone)))
  const topic = connection.named(DELIVERIES)
  const all = faults({ cluster, brokers, instances, topic, onGone })
  const phases: Phase[] = []
  for (const fault of all.filter(({ name }) => name === 'nothing' || name.includes(only)))
    phases.push(await strike(fault, seen))

  const accepted = await settle(load, kafka)
  const found = await kafka.topics()
  const result = account({ ...found, cuts, accepted, answered: arrivals, steady: DESTINATIONS })
  const rows = phases.map((phase) => ({ ...phase, pauses: pausesIn(phase, seen) }))
  const text = report({ perSecond, rows, result, refused: load.refused })
  process.stdout.write(`## cluster\n\n${text}\n`)
  if (write) await writeSection('cluster', text)
  if (!holds(result)) await explain({ missing: result.missing, cuts, reported: found.reported }, kafka)
  return holds(result)
}

type System = {
  cluster: OwnCluster
  env: Record<string, string>
  instances: readonly Instance[]
  receiver: Receiver
  /** Everything so far. */
  arrivals: readonly Arrival[]
}

async function startSystem(closing: AsyncDisposableStack): Promise<System> {
  const cluster = closing.adopt(await startOwnCluster(), (it) => it.close())
  const registry = await startOwnRegistry(cluster.brokers, await scratchFolder('registry'), say)
  closing.defer(async () => void (await registry.kill()))
  const env = {
    ...environment({ brokers: cluster.brokers, registryUrl: registry.url }),
    REPLICATION: String(cluster.nodes.length),
  }
  const arrivals: Arrival[] = []
  const receiver = closing.adopt(
    await startReceiver({ onArrival: ({ path, headers }) => void arrivals.push(arrivalOf(path, headers)) }),
    (it) => it.close(),
  )
  const instances = await startInstances(env, COPIES)
  closing.defer(async () => void (await Promise.all(instances.map((instance) => instance.kill()))))
  return { cluster, env, instances, receiver, arrivals }
}

const arrivalOf = (path: string, headers: IncomingHttpHeaders): Arrival => ({
  webhook: path,
  destinationId: path.slice(1),
  messageId: String(headers['x-message-id']),
  deliveryId: String(headers['x-delivery-id']),
  at: performance.now(),
})

const urlsOf = (instances: readonly Instance[], role: Role) =>
  instances.filter((instance) => instance.role === role).map(({ url }) => url)

/** Resolves when the processes use them. */
async function makeSettings({ env, instances, receiver }: System): Promise<void> {
  const [control = ''] = urlsOf(instances, 'control')
  const headers = { authorization: `Bearer ${env.CONTROL_TOKEN}` }
  /** A new cluster creates its internal topics first. */
  async function post(path: string, json: object): Promise<void> {
    const isMade = async () => {
      const sent = got.post(`${control}/api/${path}`, { json, headers, throwHttpErrors: false })
      const { statusCode } = await sent
      return statusCode === 201 || statusCode === 409
    }
    await until(isMade, { timeout: 60_000, message: `${path} are made` })
  }
  await post('sources', { id: 'shop', name: 'Shop', writeKey: WRITE_KEY })
  for (const id of DESTINATIONS) await post('destinations', destination(id, [`${receiver.url}/${id}`]))
  await sleep(2_000) // processes apply a change within a second
}

/** The phase ends when the system has been whole for a while. */
async function strike({ name, strike }: Fault, seen: Seen): Promise<Phase> {
  const from = performance.now() - UNDER_WAY_MS
  say(`${name}; load of the machine ${loadavg()[0]?.toFixed(1)}`)
  await strike()
  await sleep(CALM_MS)
  const { accept, deliver, gap } = pausesIn({ name, from, to: performance.now() - CALM_MS }, seen)
  say(
    `    accept p99 ${accept.p99.toFixed(0)} max ${accept.max.toFixed(0)}, deliver p50 ${deliver.p50.toFixed(0)} p99 ${deliver.p99.toFixed(0)} max ${deliver.max.toFixed(0)}, gap ${gap.toFixed(0)} ms`,
  )
  return { name, from, to: performance.now() - UNDER_WAY_MS }
}

type Found = Pick<Account, 'missing'> & Pick<Topics, 'reported'> & { cuts: readonly Cut[] }

const EXPLAINED = 20

/** Prints all records of the first missing deliveries. */
async function explain({ missing, cuts, reported }: Found, kafka: Kafka): Promise<void> {
  const keys = [...new Set([...missing.unsettled, ...missing.unrouted])].slice(0, EXPLAINED)
  const steps = await kafka.trail(new Set(keys))
  process.stderr.write(`${JSON.stringify(missing)}\n${trailText({ keys, steps, cuts, reported })}`)
}

/** Waits until all records are settled. @returns the ids of accepted calls */
async function settle(load: OpenLoad, kafka: Kafka): Promise<ReadonlySet<string>> {
  await Promise.race([load.drain(), sleep(ACCEPT_MS, undefined, { ref: false })])
  const accepted = load.calls.filter(({ acceptedAt }) => acceptedAt !== undefined)
  say(`${accepted.length} of ${load.calls.length} calls accepted`)
  await kafka.untilSettled(SETTLE_MS)
  return new Set(accepted.map(({ messageId }) => messageId))
}

await runProgram({ usage: USAGE, options, run })
