import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Layout, layout, prepareFolder } from './broker-folder.ts'
import { awaitPreviousOwner, recordOwner } from './broker-owner.ts'
import type { Voter } from './broker-properties.ts'
import { asDiskFull, requireRoom } from './disk.ts'
import { LocalFault } from './fault.ts'
import { freePort } from './free-port.ts'
import { LastWords } from './last-words.ts'
import { spawnTied, type Tied } from './tied.ts'

export type BrokerOptions = {
  /** Holds the data, the log and the settings of this one broker; made when missing, found again when not. */
  directory: string
  /** Folder for Kafka's own log; default: in `directory`. */
  logs?: string
  java: string
  /** Folder of Kafka's jars. */
  jars: string
  /** Default: free ones. */
  port?: number
  controllerPort?: number
  /** For one node of several; `voters` names all of them. */
  nodeId?: number
  voters?: readonly Voter[]
  clusterId?: string
  /** Further lines of `server.properties`, and users that SCRAM lets in: for a broker with more doors than the open one. */
  more?: Readonly<Record<string, string>>
  scram?: readonly string[]
  /** The heap, collector and compiler of Kafka's own start script: slower to start, faster at length. */
  benchmark?: boolean
  /** Class archive that shortens the start, where there is one. */
  jvmFlags?: readonly string[]
}

export type Broker = Tied & {
  /** host:port, as in `KAFKA_BROKERS`. */
  readonly brokers: string
  readonly port: number
  readonly logFile: string
  /** Starts it again, once it has ended: same folder, same ports. */
  again(): Promise<Broker>
}

const HOST = '127.0.0.1'
const START_LIMIT_MS = 60_000
const LOG_SETTINGS = fileURLToPath(new URL('./broker-log.properties', import.meta.url))

/** Starts Kafka and answers when it serves. @throws LocalFault disk_full, data_damaged, already_running, kafka_start_failed */
export async function startBroker(options: BrokerOptions): Promise<Broker> {
  try {
    await mkdir(options.directory, { recursive: true })
    await requireRoom(options.directory)
    return await startInFolder(options)
  } catch (error) {
    // what it says itself of a disk that has become full meanwhile is no help
    await requireRoom(options.directory)
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
  const tied = await launch(options, java.classPath, paths)
  return {
    ...tied,
    brokers: `${HOST}:${port}`,
    port,
    logFile: join(paths.logs, 'kafka.log'),
    again: () => startBroker({ ...options, port, controllerPort }),
  }
}

async function launch(options: BrokerOptions, classPath: string, paths: Layout): Promise<Tied> {
  const started = Promise.withResolvers<'started'>()
  const words = new LastWords()
  const onLine = (line: string) => {
    if (line.endsWith('Kafka Server started')) started.resolve('started')
    else words.add(line)
  }
  const args = [...jvmFlags(options, paths), '-cp', classPath, 'kafka.Kafka', paths.properties]
  const tied = spawnTied(options.java, { args, cwd: options.directory, onLine })
  await recordOwner(paths.owner, tied.pid)
  const timer = setTimeout(() => void tied.kill(), START_LIMIT_MS)
  const first = await Promise.race([started.promise, tied.exited]).finally(() => clearTimeout(timer))
  if (first === 'started') return tied
  const message = `Kafka ended at its start. ${words}\nIts log: ${paths.logs}/kafka.log`
  throw new LocalFault('kafka_start_failed', message)
}

function jvmFlags({ benchmark, jvmFlags = [] }: BrokerOptions, paths: Layout): string[] {
  const heap = benchmark
    ? ['-Xms1g', '-Xmx1g', '-XX:+UseG1GC', '-XX:MaxGCPauseMillis=20', '-XX:InitiatingHeapOccupancyPercent=35']
    : ['-Xms128m', '-Xmx384m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
  return [...heap, ...jvmFlags, `-Dsluice.logs=${paths.logs}`, `-Dlog4j2.configurationFile=${LOG_SETTINGS}`]
}
