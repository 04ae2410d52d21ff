import { randomBytes } from 'node:crypto'
import { access, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LocalError } from '../errors.ts'
import { spawnChild } from '../processes/child-process.ts'
import { JavaOutput } from './java.ts'

export type Layout = { data: string; logs: string; properties: string; owner: string }

export function layout(directory: string, logs = join(directory, 'logs')): Layout {
  return {
    data: join(directory, 'data'),
    logs,
    properties: join(directory, 'server.properties'),
    owner: join(directory, 'owner.json'),
  }
}

export type FolderOptions = Omit<BrokerProperties, 'dataFolder'> & {
  paths: Layout
  clusterId?: string
  /** As for `kafka-storage format --add-scram`. */
  scram?: readonly string[]
  java: { program: string; classPath: string; flags: readonly string[] }
}

/**
 * Formats the folder unless it has data, and writes the settings. @throws LocalError setting_invalid, data_damaged
 */
export async function prepareFolder(options: FolderOptions): Promise<void> {
  const { paths } = options
  if (paths.data.includes(','))
    throw new LocalError(
      'setting_invalid',
      `SLUICE_DATA: Kafka cannot use ${paths.data}, because a comma separates folders.`,
    )
  await mkdir(paths.logs, { recursive: true })
  if ((await stateOf(paths.data)) === 'unformatted') await format(options)
  await writeFile(paths.properties, brokerProperties({ ...options, dataFolder: paths.data }))
}

async function stateOf(data: string): Promise<'formatted' | 'unformatted'> {
  const names = await readdir(data).catch(() => [])
  const meta = await readFile(join(data, 'meta.properties'), 'utf8').catch(() => '')
  if (/^cluster\.id=\S+$/m.test(meta) && /^node\.id=\d+$/m.test(meta)) return 'formatted'
  // each partition is a folder such as `topic-3`; so is the broker's metadata
  if (!names.some((name) => /-\d+$/.test(name))) return 'unformatted'
  throw new LocalError(
    'data_damaged',
    `${data} contains Kafka's data, but its meta.properties is missing or damaged.\n` +
      'Restore that file, or move the folder away to start empty.',
  )
}

/** Formats under another name: half a format must not count as a whole one. */
async function format(options: FolderOptions): Promise<void> {
  const { paths } = options
  const fresh = `${paths.data}.formatting`
  const properties = `${paths.properties}.formatting`
  await rm(fresh, { recursive: true, force: true })
  await mkdir(fresh, { recursive: true })
  await writeFile(properties, brokerProperties({ ...options, dataFolder: fresh }))
  const output = new JavaOutput()
  const { program, classPath, flags } = options.java
  const id = options.clusterId ?? newClusterId()
  const jvm = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', ...flags, '-cp', classPath]
  const users = (options.scram ?? []).flatMap((user) => ['--add-scram', user])
  const args = [...jvm, 'kafka.tools.StorageTool', 'format', '-t', id, '-c', properties, ...users]
  const { code } = await spawnChild(program, { args, onLine: (line) => output.add(line) }).exited
  if (code !== 0) throw new LocalError('kafka_start_failed', `Kafka cannot format ${paths.data}. ${output}`)
  await access(join(fresh, 'meta.properties'))
  await rm(paths.data, { recursive: true, force: true })
  await rename(fresh, paths.data)
  await rm(properties)
}

/** 16 random bytes in base64url. The first is below 0x80: an id must not look like an option (`-...`). */
export function newClusterId(): string {
  const bytes = randomBytes(16)
  bytes[0] = (bytes[0] ?? 0) & 0x7f
  return bytes.toString('base64url')
}

export type Voter = { id: number; controllerPort: number }

export type BrokerProperties = {
  nodeId: number
  port: number
  /** All nodes of the cluster, including this one. */
  voters: readonly Voter[]
  dataFolder: string
  more?: Readonly<Record<string, string>> | undefined
}

const HOST = '127.0.0.1'

/** A KRaft node that is broker and controller, on loopback only. Reasons: decision 4. */
function brokerProperties({ nodeId, port, voters, dataFolder, more }: BrokerProperties): string {
  const copies = voters.length
  const inSync = Math.max(1, copies - 1)
  const controllerPort = voters.find((voter) => voter.id === nodeId)?.controllerPort
  const properties = {
    'process.roles': 'broker,controller',
    'node.id': nodeId,
    'controller.quorum.voters': voters
      .map((voter) => `${voter.id}@${HOST}:${voter.controllerPort}`)
      .join(','),
    listeners: `PLAINTEXT://${HOST}:${port},CONTROLLER://${HOST}:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://${HOST}:${port}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': dataFolder,
    'auto.create.topics.enable': false,
    'default.replication.factor': copies,
    'min.insync.replicas': inSync,
    ...internalTopic('offsets.topic', copies),
    ...internalTopic('transaction.state.log', copies),
    'transaction.state.log.min.isr': inSync,
    ...internalTopic('share.coordinator.state.topic', copies),
    'share.coordinator.state.topic.min.isr': inSync,
    // after kill -9 a broker waits for its old session to expire
    'broker.session.timeout.ms': 2_000,
    'broker.heartbeat.interval.ms': 500,
    // a lone broker would write a record twice a second: a fifth of its idle CPU
    ...(copies === 1 && { 'metadata.max.idle.interval.ms': 0 }),
    'group.initial.rebalance.delay.ms': 0,
    // the default takes 128 MB of heap
    'log.cleaner.dedupe.buffer.size': 2_097_152,
    // allocated in full at a partition's first record
    'log.index.size.max.bytes': 1_048_576,
    ...more,
  }
  return `${Object.entries(properties)
    .map(([name, value]) => `${name}=${escaped(String(value))}`)
    .join('\n')}\n`
}

/** Java reads properties as ISO 8859-1, and takes a backslash as the start of an escape. */
function escaped(value: string): string {
  return value.replace(/[^ -~]|\\/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function internalTopic(name: string, copies: number): Record<string, number> {
  return { [`${name}.replication.factor`]: copies, [`${name}.num.partitions`]: 4 }
}
