import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cached, cacheFolder } from '../../local/kafka/downloads.ts'
import { runMaven } from '../../local/kafka/maven.ts'

/** @returns the folder with the jars that a pom names and their dependencies. Fetches them once per text of the pom. */
export async function exampleJars(pom: string): Promise<string> {
  const version = createHash('sha256')
    .update(await readFile(pom))
    .digest('hex')
    .slice(0, 8)
  return cached(join(await cacheFolder(process.env), `example-${version}`), (cwd) =>
    runMaven({
      goal: 'copy-dependencies',
      args: ['-f', pom],
      cwd,
      folder: cwd,
      onProgress: () => undefined,
    }),
  )
}
