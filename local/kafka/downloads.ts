import { access, constants, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { ROOT } from '../data-folder.ts'
import { LocalError } from '../errors.ts'
import { spawnChild } from '../processes/child-process.ts'
import { type MavenRun, type OnMegabytes, runMaven } from './maven.ts'

const KAFKA = '4.3.1'
const LOG4J = '2.25.4'
const REGISTRY = '3.0.9' // the last one at Maven Central for Java 17; docker-compose.yml has a newer image

/** `text`: what is downloaded, and how much of it is done. The last one says 100 %. */
export type Progress = (text: string, isLast?: boolean) => void

const PARTS = {
  kafka: { name: 'Kafka', folder: `kafka-${KAFKA}`, megabytes: 44 },
  registry: { name: 'the schema registry', folder: `apicurio-registry-${REGISTRY}`, megabytes: 109 },
}
type Part = keyof typeof PARTS

export type Downloads = {
  /** The folder of Kafka's jars. */
  kafkaJars(): Promise<string>
  /** A jar whose folder has its dependencies. */
  registryApp(): Promise<string>
}

/** Downloads what the cache lacks, with one progress for all of `wanted`. */
export async function createDownloads(
  cache: string,
  wanted: readonly Part[],
  progress: Progress,
): Promise<Downloads> {
  const folderOf = (part: Part) => join(cache, PARTS[part].folder)
  const there = await Promise.all(wanted.map((part) => exists(folderOf(part))))
  const onProgress = percentage(
    wanted.filter((_, index) => !there[index]).map((part) => PARTS[part]),
    progress,
  )
  const get = async (part: Part, fill: Fill): Promise<string> => {
    const onPart = (megabytes: number) => onProgress(PARTS[part], megabytes)
    const folder = await cached(folderOf(part), (folder) => fill(folder, onPart))
    onPart(Number.POSITIVE_INFINITY)
    return folder
  }
  return {
    kafkaJars: () => get('kafka', fillKafka),
    registryApp: async () => join(await get('registry', fillRegistry), `${REGISTRY_NAME}-runner.jar`),
  }
}

export const kafkaJars = async (cache: string, progress: Progress): Promise<string> =>
  (await createDownloads(cache, ['kafka'], progress)).kafkaJars()

/** The jar of Kafka's tools (0.7 MB). @param kafka folder of Kafka's jars */
export const toolsJar = (cache: string, kafka: string): Promise<string> =>
  mavenFile(cache, `org.apache.kafka:kafka-tools:${basename(kafka).replace('kafka-', '')}`)

/** @param artifact as Maven names it: `group:name:version`, then `:packaging:classifier` unless it is a jar */
export async function mavenFile(cache: string, artifact: string): Promise<string> {
  const [, name, version, packaging = 'jar', classifier] = artifact.split(':')
  const args = [`-Dartifact=${artifact}`]
  const onProgress = () => undefined
  const folder = await cached(join(cache, `${name}-${version}`), (cwd) =>
    runMaven({ goal: 'copy', args, cwd, folder: cwd, onProgress }),
  )
  return join(folder, `${[name, version, classifier].filter(Boolean).join('-')}.${packaging}`)
}

export const registryApp = async (cache: string, progress: Progress): Promise<string> =>
  (await createDownloads(cache, ['registry'], progress)).registryApp()

type Counted = { name: string; megabytes: number }

/**
 * One percentage for all parts, which never falls. Sizes are estimates: a part stays at 99 % until it is complete
 * (`Infinity`).
 */
export function percentage<T extends Counted>(
  parts: readonly T[],
  progress: Progress,
): (part: T, megabytes: number) => void {
  const done = new Map(parts.map((part) => [part, 0]))
  const expected = sum(parts.map(({ megabytes }) => megabytes))
  const names = parts.map(({ name }) => name).join(' and ')
  return (part, megabytes) => {
    const before = done.get(part)
    if (before === undefined) return
    const most = megabytes === Number.POSITIVE_INFINITY ? part.megabytes : part.megabytes * 0.99
    done.set(part, Math.max(before, Math.min(megabytes, most)))
    const percent = Math.floor((100 * sum([...done.values()])) / expected)
    progress(`downloading ${names} (first start only): ${percent} % of ${expected} MB`, percent === 100)
  }
}

const sum = (amounts: readonly number[]) => amounts.reduce((total, amount) => total + amount, 0)

type Fill = (folder: string, onProgress: OnMegabytes) => Promise<void>

const fillKafka: Fill = (folder, onProgress) =>
  maven({ goal: 'copy-dependencies', args: [], folder, onProgress })

const REGISTRY_NAME = `apicurio-registry-app-${REGISTRY}`

const fillRegistry: Fill = async (folder, onProgress) => {
  const artifact = `-Dartifact=io.apicurio:apicurio-registry-app:${REGISTRY}:tar.gz:all`
  await maven({ goal: 'copy', args: [artifact], folder, onProgress })
  await unpack(`${REGISTRY_NAME}-all.tar.gz`, folder)
}

async function unpack(archive: string, cwd: string): Promise<void> {
  const { code } = await spawnChild('tar', { args: ['-xzf', archive], cwd }).exited
  if (code !== 0)
    throw new LocalError('download_failed', `tar cannot unpack ${archive} in ${cwd}: is the disk full?`)
  await rm(join(cwd, archive))
}

/** Maven leaves files in its working directory. */
async function maven(run: Omit<MavenRun, 'cwd'>): Promise<void> {
  const cwd = join(run.folder, 'maven')
  run.onProgress(0)
  await mkdir(cwd)
  await writeFile(join(cwd, 'pom.xml'), POM)
  await runMaven({ ...run, cwd })
  await rm(cwd, { recursive: true })
}

const dependency = (group: string, artifact: string, version: string) =>
  `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>sluice</groupId><artifactId>local</artifactId><version>1</version>
<dependencies>
${dependency('org.apache.kafka', 'kafka_2.13', KAFKA)}
${dependency('org.apache.logging.log4j', 'log4j-slf4j-impl', LOG4J)}
${dependency('org.apache.logging.log4j', 'log4j-1.2-api', LOG4J)}
</dependencies></project>
`

/** The user's cache, or a folder in the checkout. @throws LocalError cache_not_writable if neither is writable */
export async function cacheFolder(env: NodeJS.ProcessEnv): Promise<string> {
  const inHome = join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'sluice')
  const candidates = [inHome, join(ROOT, 'node_modules/.cache/sluice')]
  for (const folder of candidates) if (await isWritable(folder)) return folder
  throw new LocalError(
    'cache_not_writable',
    `Cannot write to any of these folders: ${candidates.join(', ')}. Set XDG_CACHE_HOME.`,
  )
}

async function isWritable(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { recursive: true })
    await access(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Calls `fill` if `target` does not exist. The folder appears whole or not at all. Of two processes that fill it at the
 * same time, the first wins and both succeed.
 */
export async function cached(target: string, fill: (folder: string) => Promise<void>): Promise<string> {
  await removeLeftovers(target)
  if (await exists(target)) return target
  const partial = await mkdtemp(`${target}.part-`)
  try {
    await fill(partial)
    await rename(partial, target)
  } catch (error) {
    await remove(partial)
    if (!(await exists(target))) throw error
  }
  return target
}

const LEFTOVER_AGE_MS = 60 * 60_000

/** Goes by age, as another process may be filling one. */
async function removeLeftovers(target: string): Promise<void> {
  for (const name of await readdir(dirname(target))) {
    const path = join(dirname(target), name)
    if (!name.startsWith(`${basename(target)}.part-`)) continue
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }))
    if (Date.now() - mtimeMs > LEFTOVER_AGE_MS) await remove(path).catch(() => undefined)
  }
}

const remove = (path: string) => rm(path, { recursive: true, force: true })

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
