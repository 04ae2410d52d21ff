import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { whole } from './cache.ts'
import { LocalFault } from './fault.ts'
import { type MavenRun, runMaven } from './maven.ts'
import { spawnTied } from './tied.ts'

const KAFKA = '4.3.1'
const LOG4J = '2.25.4'
const REGISTRY = '3.0.9' // the last one that runs on Java 17; 3.3 needs 21

/** Told what comes down and how much of it, each time that changes. */
export type Progress = (text: string) => void

/** Folder with Kafka's jars; fetched once, afterwards found without a network. */
export function kafkaJars(cache: string, progress: Progress): Promise<string> {
  return whole(join(cache, `kafka-${KAFKA}`), (folder) =>
    maven('copy-dependencies', folder, [], counted(`Kafka ${KAFKA}`, 44, progress)),
  )
}

/** The jar that runs the registry; what it needs lies beside it. */
export async function registryApp(cache: string, progress: Progress): Promise<string> {
  const name = `apicurio-registry-app-${REGISTRY}`
  const artifact = `-Dartifact=io.apicurio:apicurio-registry-app:${REGISTRY}:tar.gz:all`
  const onProgress = counted(`schema registry ${REGISTRY}`, 109, progress)
  const app = await whole(join(cache, `apicurio-registry-${REGISTRY}`), async (folder) => {
    await maven('copy', folder, [artifact], onProgress)
    await unpack(`${name}-all.tar.gz`, folder)
  })
  return join(app, `${name}-runner.jar`)
}

async function unpack(archive: string, cwd: string): Promise<void> {
  const { code } = await spawnTied('tar', { args: ['-xzf', archive], cwd }).exited
  if (code !== 0)
    throw new LocalFault('download_failed', `tar cannot unpack ${archive} in ${cwd}: disk full?`)
  await rm(join(cwd, archive))
}

/** Maven reads the pom in its working directory and leaves marks there. */
async function maven(
  goal: MavenRun['goal'],
  folder: string,
  args: string[],
  onProgress: MavenRun['onProgress'],
): Promise<void> {
  const cwd = join(folder, 'maven')
  onProgress(0)
  await mkdir(cwd)
  await writeFile(join(cwd, 'pom.xml'), POM)
  await runMaven({ goal, args, cwd, folder, onProgress })
  await rm(cwd, { recursive: true })
}

function counted(what: string, expected: number, progress: Progress): MavenRun['onProgress'] {
  return (megabytes) => progress(`fetching ${what}, once: ${Math.round(megabytes)} of about ${expected} MB`)
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
