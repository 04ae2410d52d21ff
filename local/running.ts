import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Addresses } from './addresses.ts'
import { isAlive, processFacts } from './process-facts.ts'
import { writeWhole } from './whole-file.ts'

const shape = z.object({
  pid: z.number(),
  started: z.string(),
  control: z.string(),
  ingest: z.string(),
  token: z.string(),
})

/** What a running `npm start` tells programs of its user; URLs without a slash at their end. */
export type Running = Pick<z.infer<typeof shape>, 'control' | 'ingest' | 'token'>

const pathIn = (folder: string) => join(folder, 'running.json')

/** Only its owner may read it: the token is in it, as in the keys beside it. @returns how to take it back. */
export async function tellRunning(
  folder: string,
  { control, ingest, controlToken: token }: Pick<Addresses, 'control' | 'ingest' | 'controlToken'>,
): Promise<() => Promise<void>> {
  const { pid } = process
  const started = processFacts(pid)?.started ?? ''
  await writeWhole(pathIn(folder), JSON.stringify({ pid, started, control, ingest, token }))
  return () => rm(pathIn(folder), { force: true })
}

/** Undefined when none runs on this folder; what a killed one has left behind counts for nothing. */
export async function findRunning(folder: string): Promise<Running | undefined> {
  const text = await readFile(pathIn(folder), 'utf8').catch(() => '')
  const found = parsed(text)
  if (!found.success) return undefined
  const { pid, started, ...running } = found.data
  return isAlive(pid, started) ? running : undefined
}

function parsed(text: string) {
  try {
    return shape.safeParse(JSON.parse(text))
  } catch {
    return shape.safeParse(undefined)
  }
}
