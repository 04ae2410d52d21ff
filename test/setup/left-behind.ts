import { readdirSync, readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'

/**
 * The command lines of the processes that were started with this folder in their environment. Empty on systems without
 * `/proc`.
 */
export function processesIn(folder: string): string[] {
  return processIds()
    .filter((id) => read(id, 'environ').includes(folder))
    .map((id) => `${id} ${read(id, 'cmdline').replaceAll('\0', ' ').trim()}`)
}

function processIds(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
}

/** Empty for a process that has ended, and for one of another user. */
function read(id: string, file: 'environ' | 'cmdline'): string {
  try {
    return readFileSync(`/proc/${id}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

/** The name of Node's cache in that folder. */
export const COMPILED = 'compiled'

/** The folder of a worker's broker, as workers are killed; and a file of testcontainers, which it never removes. */
const EXPECTED = /^(sluice-worker-.*|testcontainers-node-\d+\.lock)$/

/** What tests have left in the folder of their run. */
export const filesIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name !== COMPILED && !EXPECTED.test(name)).toSorted()
