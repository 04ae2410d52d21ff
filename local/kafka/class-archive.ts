import { createHash } from 'node:crypto'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { spawnChild } from '../processes/child-process.ts'
import { cached } from './downloads.ts'
import type { Java } from './java.ts'

export type ArchiveOptions = {
  java: Java
  cache: string
  name: string
  classPath: string
  /** Java lists the classes here while there is no archive. */
  list: string
}

/** Class data sharing (CDS): halves the start time of Kafka and the registry. */
export type ClassArchive = {
  flags: string[]
  /** Makes a missing archive. Takes seconds of CPU, at the lowest priority. */
  make(): Promise<void>
}

export async function classArchive({ classPath, list, ...options }: ArchiveOptions): Promise<ClassArchive> {
  const flags = await archiveFlags(options)
  const make = (folder: string) =>
    dump({ java: options.java, classPath, list, archive: join(folder, ARCHIVE) })
  return {
    flags: flags.length > 0 ? flags : [`-XX:DumpLoadedClassList=${list}`],
    make: async () => {
      await cached(folderOf(options), make)
    },
  }
}

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

/** Java reads only archives of its own version. */
function folderOf({ java, cache, name }: Pick<ArchiveOptions, 'java' | 'cache' | 'name'>): string {
  return join(cache, `${name}-${createHash('sha256').update(java.version).digest('hex').slice(0, 8)}`)
}

type Dump = Pick<ArchiveOptions, 'java' | 'classPath' | 'list'> & { archive: string }

async function dump({ java, classPath, list, archive }: Dump): Promise<void> {
  const flags = [
    '-Xshare:dump',
    '-XX:+UseSerialGC',
    `-XX:SharedClassListFile=${list}`,
    `-XX:SharedArchiveFile=${archive}`,
  ]
  const args = ['-n', '19', java.program, ...flags, '-cp', classPath]
  const { code } = await spawnChild('nice', { args }).exited
  if (code !== 0) throw new Error(`java -Xshare:dump exited with ${code}`)
}
