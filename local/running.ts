import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { writeFileAtomically } from './data-folder.ts'
import { identify, isAlive, processId } from './lock.ts'
import type { Addresses } from './settings.ts'

const addresses = z.object({
  control: z.string(),
  ingest: z.string(),
  brokers: z.string(),
  registry: z.string(),
  token: z.string(),
})

/** For other programs of the same user. URLs have no trailing slash. */
export type Running = z.infer<typeof addresses>

const shape = processId.extend(addresses.shape)

type Published = Pick<Addresses, 'control' | 'ingest' | 'brokers' | 'registryUrl' | 'controlToken'>

const pathIn = (folder: string) => join(folder, 'running.json')

/** Only the owner can read the file: it has the token. @returns a function that removes it */
export async function publishRunning(
  folder: string,
  { control, ingest, brokers, registryUrl: registry, controlToken: token }: Published,
): Promise<() => Promise<void>> {
  const content = { ...identify(process.pid), control, ingest, brokers, registry, token }
  await writeFileAtomically(pathIn(folder), JSON.stringify(content))
  return () => rm(pathIn(folder), { force: true })
}

/** Undefined if no `npm start` runs there. A killed one leaves its file behind. */
export async function findRunning(folder: string): Promise<Running | undefined> {
  try {
    const { pid, started, ...running } = shape.parse(JSON.parse(await readFile(pathIn(folder), 'utf8')))
    return isAlive({ pid, started }) ? running : undefined
  } catch {
    return undefined // missing or damaged
  }
}
