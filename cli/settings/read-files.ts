import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { CliFault } from '../fault.ts'
import type { World } from '../world.ts'
import type { File } from './parse.ts'

/** Each path is a file, a folder of YAML files (with those of its folders, but for hidden ones), or `-`. @throws CliFault cannot_read */
export async function readFiles(
  paths: readonly string[],
  { readInput }: Pick<World, 'readInput'>,
): Promise<File[]> {
  const files: File[] = []
  for (const path of paths) {
    if (path === '-') files.push({ name: '(standard input)', text: await readInput() })
    else
      for (const name of await filesAt(path))
        files.push({ name, text: await readFile(name, 'utf8').catch(refuse) })
  }
  return files
}

async function filesAt(path: string): Promise<string[]> {
  const found = await stat(path).catch(refuse)
  if (!found.isDirectory()) return [path]
  const names = await readdir(path, { recursive: true }).catch(refuse)
  const isHidden = (name: string) => name.split('/').some((part) => part.startsWith('.'))
  const files = names.filter((name) => /\.ya?ml$/.test(name) && !isHidden(name)).sort()
  if (files.length === 0) throw new CliFault('cannot_read', `${path} holds no file ending with .yaml or .yml`)
  return files.map((name) => join(path, name))
}

function refuse(cause: NodeJS.ErrnoException): never {
  const message = cause.code === 'ENOENT' ? `there is no file or folder ${cause.path}` : cause.message
  throw new CliFault('cannot_read', message, { cause })
}
