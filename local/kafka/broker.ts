import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { asDiskFull, LocalError, requireFreeSpace } from '../errors.ts'
import { awaitPreviousOwner, recordOwner } from '../lock.ts'
import { freePort } from '../ports.ts'
import { type Child, spawnChild } from '../processes/child-process.ts'
import { type Layout, layout, newClusterId, prepareFolder, type Voter } from './broker-folder.ts'
import { JavaOutput } from './java.ts'

export type BrokerOptions = {
  /** For data, log and settings. Existing data is used again. */
  directory: string
  /** Default: in `directory`. */
  logs?: string
  java: string
  jars: string
  port?: number
  controllerPort?: number
  /** For a node of a cluster, with all nodes in `voters`. */
  nodeId?: number
  voters?: readonly Voter[]
  clusterId?: string
  /** Extra lines of `server.properties`, and SCRAM users. */
  more?: Readonly<Record<string, string>>
  scram?: readonly string[]
  /** As Kafka's own start script runs it: slower to start, faster later. */
  benchmark?: boolean
  jvmFlags?: readonly string[]
}

export type Broker = Child & {
  /** host:port, as in `KAFKA_BROKERS`. */
  readonly brokers: string
  readonly port: number
  readonly logFile: string
  /** Starts it again on the same folder and ports. */
  restart(): Promise<Broker>
}

const HOST = '127.0.0.1'
const START_LIMIT_MS = 60_000
const LOG_SETTINGS = fileURLToPath(new URL('./broker-log.properties', import.meta.url))

/** @throws LocalError disk_full, data_damaged, already_running, kafka_start_failed */
export async function startBroker(options: BrokerOptions): Promise<Broker> {
  try {
    await mkdir(options.directory, { recursive: true })
    await requireFreeSpace(options.directory)
    return await startInFolder(options)
  } catch (error) {
    // Kafka's own error does not name a disk that is full by now
    await requireFreeSpace(options.directory)
    throw asDiskFull(error, options.directory)
  }
}

async function startInFolder(options: BrokerOptions): Promise<Broker> {
  const port = options.port ?? (await freePort())
  const controllerPort = options.controllerPort ?? (await freePort(HOST, [port]))
  const nodeId = options.nodeId ?? 1
  const voters = options.voters ?? [{ id: nodeId, controllerPort }]
  const java = { program: options.java, classPath: join(options.jars, '*'), flags: options.jvmFlags ?? [] }
  const paths = layout(options.directory, options.logs)
  await awaitPreviousOwner(paths.owner, options.directory)
  await prepareFolder({ ...options, paths, nodeId, port, voters, java })
  const child = await launch(options, java.classPath, paths)
  return {
    ...child,
    brokers: `${HOST}:${port}`,
    port,
    logFile: join(paths.logs, 'kafka.log'),
    restart: () => startBroker({ ...options, port, controllerPort }),
  }
}

async function launch(options: BrokerOptions, classPath: string, paths: Layout): Promise<Child> {
  const started = Promise.withResolvers<'started'>()
  const output = new JavaOutput()
  const onLine = (line: string) => {
    if (line.endsWith('Kafka Server started')) started.resolve('started')
    else output.add(line)
  }
  const args = [...jvmFlags(options, paths), '-cp', classPath, 'kafka.Kafka', paths.properties]
  const child = spawnChild(options.java, { args, cwd: options.directory, onLine })
  await recordOwner(paths.owner, child.pid)
  const timer = setTimeout(() => void child.kill(), START_LIMIT_MS)
  const first = await Promise.race([started.promise, child.exited]).finally(() => clearTimeout(timer))
  if (first === 'started') return child
  const message = `Kafka did not start. ${output}\nIts log: ${paths.logs}/kafka.log`
  throw new LocalError('kafka_start_failed', message)
}

function jvmFlags({ benchmark, jvmFlags = [] }: BrokerOptions, paths: Layout): string[] {
  const heap = benchmark
    ? ['-Xms1g', '-Xmx1g', '-XX:+UseG1GC', '-XX:MaxGCPauseMillis=20', '-XX:InitiatingHeapOccupancyPercent=35']
    : ['-Xms128m', '-Xmx384m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
  return [...heap, ...jvmFlags, `-Dsluice.logs=${paths.logs}`, `-Dlog4j2.configurationFile=${LOG_SETTINGS}`]
}

export type ClusterOptions = Pick<BrokerOptions, 'directory' | 'java' | 'jars' | 'jvmFlags'> & {
  nodes: number
}

export type Cluster = {
  readonly brokers: string
  /** By node id, from 1. */
  readonly nodes: readonly Broker[]
  restart(index: number): Promise<void>
  kill(): Promise<void>
}

/** Brokers have folders below `directory`, and each has a copy of each topic. */
export async function startCluster({ nodes, directory, ...options }: ClusterOptions): Promise<Cluster> {
  const taken: number[] = []
  const takePort = async () => {
    const port = await freePort(HOST, taken)
    taken.push(port)
    return port
  }
  const voters: Voter[] = []
  for (let id = 1; id <= nodes; id++) voters.push({ id, controllerPort: await takePort() })
  const clusterId = newClusterId()
  const starting: Promise<Broker>[] = []
  for (const { id, controllerPort } of voters) {
    const node = {
      nodeId: id,
      controllerPort,
      port: await takePort(),
      directory: join(directory, String(id)),
    }
    starting.push(startBroker({ ...options, ...node, voters, clusterId }))
  }
  const brokers = await Promise.all(starting) // a node is up once a majority have found each other
  return {
    brokers: brokers.map((broker) => broker.brokers).join(','),
    nodes: brokers,
    restart: async (index) => {
      const ended = brokers[index]
      if (ended) brokers[index] = await ended.restart()
    },
    kill: async () => {
      await Promise.all(brokers.map((broker) => broker.kill()))
    },
  }
}
