import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { writeFileAtomically } from './data-folder.ts'
import { identify, isAlive, processId } from './lock.ts'
import type { Addresses } from './settings.ts'

const shape = processId.extend({ control: z.string(), ingest: z.string(), token: z.string() })

/** What a running `npm start` publishes to its user's other programs; URLs without a trailing slash. */
export type Running = Pick<z.infer<typeof shape>, 'control' | 'ingest' | 'token'>

const pathIn = (folder: string) => join(folder, 'running.json')

/** Only the owner may read the file, since it contains the token. @returns a function that removes it */
export async function publishRunning(
  folder: string,
  { control, ingest, controlToken: token }: Pick<Addresses, 'control' | 'ingest' | 'controlToken'>,
): Promise<() => Promise<void>> {
  const content = { ...identify(process.pid), control, ingest, token }
  await writeFileAtomically(pathIn(folder), JSON.stringify(content))
  return () => rm(pathIn(folder), { force: true })
}

/** Undefined if no `npm start` runs on this folder; ignores what a killed one has left behind. */
export async function findRunning(folder: string): Promise<Running | undefined> {
  try {
    const { pid, started, ...running } = shape.parse(JSON.parse(await readFile(pathIn(folder), 'utf8')))
    return isAlive({ pid, started }) ? running : undefined
  } catch {
    return undefined // missing or damaged
  }
}
