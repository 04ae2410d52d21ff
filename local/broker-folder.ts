import { randomBytes } from 'node:crypto'
import { access, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type BrokerProperties, brokerProperties } from './broker-properties.ts'
import { LocalFault } from './fault.ts'
import { LastWords } from './last-words.ts'
import { spawnTied } from './tied.ts'

export type Layout = { data: string; logs: string; properties: string; owner: string }

/** What lies where in a broker's folder. */
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
  /** Users that SCRAM lets in, as `kafka-storage format --add-scram` takes them. */
  scram?: readonly string[]
  /** Runs a class of Kafka's. */
  java: { program: string; classPath: string; flags: readonly string[] }
}

/**
 * The folder is ready for a broker: formatted, or found with its data, and its settings are written. A half-written one that
 * holds no data is made anew. @throws LocalFault data_damaged
 */
export async function prepareFolder(options: FolderOptions): Promise<void> {
  const { paths } = options
  await mkdir(paths.logs, { recursive: true })
  if ((await stateOf(paths.data)) === 'unformatted') await format(options)
  await writeFile(paths.properties, brokerProperties({ ...options, dataFolder: paths.data }))
}

async function stateOf(data: string): Promise<'formatted' | 'unformatted'> {
  const names = await readdir(data).catch(() => [])
  const meta = await readFile(join(data, 'meta.properties'), 'utf8').catch(() => '')
  if (/^cluster\.id=\S+$/m.test(meta) && /^node\.id=\d+$/m.test(meta)) return 'formatted'
  // each partition is a folder `topic-3`, the broker's own metadata among them
  if (!names.some((name) => /-\d+$/.test(name))) return 'unformatted'
  throw new LocalFault(
    'data_damaged',
    `${data} holds Kafka's data, but meta.properties in it is missing or damaged.\n` +
      'Put that file back, or move the folder away to start with an empty one.',
  )
}

/** Formatted under another name, so that a format killed halfway is never taken for a whole one. */
async function format(options: FolderOptions): Promise<void> {
  const { paths } = options
  const fresh = `${paths.data}.formatting`
  const properties = `${paths.properties}.formatting`
  await rm(fresh, { recursive: true, force: true })
  await mkdir(fresh, { recursive: true })
  await writeFile(properties, brokerProperties({ ...options, dataFolder: fresh }))
  const words = new LastWords()
  const { program, classPath, flags } = options.java
  const id = options.clusterId ?? newClusterId()
  const jvm = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', ...flags, '-cp', classPath]
  const users = (options.scram ?? []).flatMap((user) => ['--add-scram', user])
  const args = [...jvm, 'kafka.tools.StorageTool', 'format', '-t', id, '-c', properties, ...users]
  const { code } = await spawnTied(program, { args, onLine: (line) => words.add(line) }).exited
  if (code !== 0) throw new LocalFault('kafka_start_failed', `Kafka cannot format ${paths.data}. ${words}`)
  await access(join(fresh, 'meta.properties'))
  await rm(paths.data, { recursive: true, force: true })
  await rename(fresh, paths.data)
  await rm(properties)
}

/** 16 random bytes in base64url; the first is below 0x80, so that it never looks like an option (`-...`). */
export function newClusterId(): string {
  const bytes = randomBytes(16)
  bytes[0] = (bytes[0] ?? 0) & 0x7f
  return bytes.toString('base64url')
}
