import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { freePort, isFree } from './free-port.ts'
import { writeWhole } from './whole-file.ts'

const ports = z.object({ kafka: z.number(), controller: z.number(), registry: z.number() })

/** Ports of what others connect to with settings of their own: the same at every start, as long as they are free. */
export type KeptPorts = z.infer<typeof ports>

const FIRST: KeptPorts = { kafka: 9092, controller: 9093, registry: 8085 }
const HOST = '127.0.0.1'

export async function findKeptPorts(folder: string, taken: readonly number[]): Promise<KeptPorts> {
  const path = join(folder, 'ports.json')
  const wanted = await readFile(path, 'utf8')
    .then((text) => ports.parse(JSON.parse(text)))
    .catch(() => FIRST)
  const kafka = await keep(wanted.kafka, taken)
  const controller = await keep(wanted.controller, [...taken, kafka])
  const registry = await keep(wanted.registry, [...taken, kafka, controller])
  await writeWhole(path, JSON.stringify({ kafka, controller, registry }))
  return { kafka, controller, registry }
}

async function keep(port: number, taken: readonly number[]): Promise<number> {
  return !taken.includes(port) && (await isFree(port, HOST)) ? port : freePort(HOST, taken)
}
