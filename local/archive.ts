import { createHash } from 'node:crypto'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { whole } from './cache.ts'
import type { Java } from './java.ts'
import { spawnTied } from './tied.ts'

export type ArchiveOptions = {
  java: Java
  cache: string
  name: string
  classPath: string
  /** Where to write down what the archive must hold, when there is none yet. */
  list: string
}

/** Java's class data sharing for one program: Kafka and the registry start in half the time. */
export type Archive = {
  /** For the program's command line. */
  flags: string[]
  /** Makes the archive where there is none, for the next start: seconds of CPU, taken only when nothing else wants them. */
  make(): Promise<void>
}

export async function classArchive({ classPath, list, ...options }: ArchiveOptions): Promise<Archive> {
  const flags = await archiveFlags(options)
  const make = (partial: string) => dump(options.java, classPath, list, join(partial, ARCHIVE))
  return {
    flags: flags.length > 0 ? flags : [`-XX:DumpLoadedClassList=${list}`],
    make: async () => {
      await whole(folderOf(options), make)
    },
  }
}

/** The flags that use the archive, none when there is none. */
export async function archiveFlags(
  options: Pick<ArchiveOptions, 'java' | 'cache' | 'name'>,
): Promise<string[]> {
  const archive = join(folderOf(options), ARCHIVE)
  return access(archive).then(
    () => [`-XX:SharedArchiveFile=${archive}`],
    () => [],
  )
}

const ARCHIVE = 'classes.jsa'

/** Each version of Java reads only its own archives. */
function folderOf({ java, cache, name }: Pick<ArchiveOptions, 'java' | 'cache' | 'name'>): string {
  return join(cache, `${name}-${createHash('sha256').update(java.version).digest('hex').slice(0, 8)}`)
}

async function dump(java: Java, classPath: string, list: string, archive: string): Promise<void> {
  const flags = [
    '-Xshare:dump',
    '-XX:+UseSerialGC',
    `-XX:SharedClassListFile=${list}`,
    `-XX:SharedArchiveFile=${archive}`,
  ]
  const args = ['-n', '19', java.program, ...flags, '-cp', classPath]
  const { code } = await spawnTied('nice', { args }).exited
  if (code !== 0) throw new Error(`java -Xshare:dump ended with ${code}`)
}
