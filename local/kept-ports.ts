import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { freePort, isFree } from './free-port.ts'
import { writeWhole } from './whole-file.ts'

const ports = z.object({ kafka: z.number(), controller: z.number(), registry: z.number() })

/** Ports of what others connect to with settings of their own: the same at every start, as long as they are free. */
export type KeptPorts = z.infer<typeof ports>

export const FIRST: KeptPorts = { kafka: 9092, controller: 9093, registry: 8085 }
/** Of those that others connect to. */
const NAMES = { kafka: 'Kafka', registry: 'schema registry' }
const HOST = '127.0.0.1'

export type KeptPortsOptions = {
  folder: string
  taken: readonly number[]
  /** Which of them are started here: the port of one that the environment names is its own affair, and what is kept stays as it was. */
  started: { kafka: boolean; registry: boolean }
  /** Told of each that is another than at the last start, or than at first starts. */
  say(line: string): void
}

export async function findKeptPorts({ folder, taken, started, say }: KeptPortsOptions): Promise<KeptPorts> {
  const path = join(folder, 'ports.json')
  const wanted = await readFile(path, 'utf8')
    .then((text) => ports.parse(JSON.parse(text)))
    .catch(() => FIRST)
  const kafka = started.kafka ? await keep(wanted.kafka, taken) : wanted.kafka
  const controller = started.kafka ? await keep(wanted.controller, [...taken, kafka]) : wanted.controller
  const registry = started.registry
    ? await keep(wanted.registry, [...taken, kafka, controller])
    : wanted.registry
  const found: KeptPorts = { kafka, controller, registry }
  for (const name of ['kafka', 'registry'] as const)
    if (found[name] !== wanted[name])
      say(`${NAMES[name]}: port ${wanted[name]} is taken, using ${found[name]}, from now on`)
  await writeWhole(path, JSON.stringify(found))
  return found
}

async function keep(port: number, taken: readonly number[]): Promise<number> {
  return !taken.includes(port) && (await isFree(port, HOST)) ? port : freePort(HOST, taken)
}
