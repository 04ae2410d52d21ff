import { randomInt } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { z } from 'zod'
import { writeFileAtomically } from './data-folder.ts'
import { LocalError } from './errors.ts'

const DEFAULTS = {
  INGEST_PORT: 8080,
  CONTROL_PORT: 8081,
  ROUTER_PORT: 8082,
  DELIVERER_PORT: 8083,
  INGEST_METRICS_PORT: 8084,
  CONTROL_METRICS_PORT: 8086,
} as const

export type PortName = keyof typeof DEFAULTS
export type Ports = Record<PortName, number>

const kafkaPorts = z.object({ kafka: z.number(), controller: z.number(), registry: z.number() })

/** Users' programs connect to these ports, so they stay the same while they are free. */
export type KafkaPorts = z.infer<typeof kafkaPorts>

const KAFKA_DEFAULTS: KafkaPorts = { kafka: 9092, controller: 9093, registry: 8085 }
const RESERVED = [...Object.values(DEFAULTS), ...Object.values(KAFKA_DEFAULTS)]
const LOOPBACK = '127.0.0.1'

const names = Object.keys(DEFAULTS) as PortName[]

/**
 * Fixed for this run: a restarted process gets its port again. `onChange` gets a line if a default is taken.
 * @throws LocalError port_taken or setting_invalid for a port set in the environment
 */
export async function choosePorts(
  env: NodeJS.ProcessEnv,
  host: string,
  onChange: (line: string) => void,
): Promise<Ports> {
  const chosen: Ports = { ...DEFAULTS }
  const used: number[] = []
  // first those of the environment, so that no default takes one
  for (const name of [...names].sort((a, b) => Number(!env[a]) - Number(!env[b]))) {
    const setting = env[name]
    const port = await (setting
      ? checkedPort(name, setting, { host, used })
      : nextFree(DEFAULTS[name], { host, used })
    ).catch((error) => {
      throw aboutHost(host, error)
    })
    if (!setting && port !== DEFAULTS[name]) onChange(`${name}: ${DEFAULTS[name]} is taken, using ${port}`)
    chosen[name] = port
    used.push(port)
  }
  return chosen
}

/** Ports in use are no errors, so any error of the system is about the address. */
function aboutHost(host: string, error: unknown): unknown {
  if (error instanceof LocalError || !(error instanceof Error) || !('code' in error)) return error
  return new LocalError('setting_invalid', `HOST: cannot listen on ${host}: ${error.message}`, {
    cause: error,
  })
}

export type PortSearch = { host: string; used: readonly number[] }

async function checkedPort(name: PortName, setting: string, { host, used }: PortSearch): Promise<number> {
  const port = Number(setting)
  if (!/^\d+$/.test(setting) || port > 65_535)
    throw new LocalError('setting_invalid', `${name}: "${setting}" is not a port`)
  if (port === 0) return freePort(host, used)
  if (used.includes(port))
    throw new LocalError('port_taken', `${name}: another process is also set to port ${port}`)
  if (await isUsable(port, host, name)) return port
  throw new LocalError(
    'port_taken',
    `${name}: port ${port} on ${host} is taken. Set another port, or 0 for any free one.`,
  )
}

async function isUsable(port: number, host: string, name: PortName): Promise<boolean> {
  return isFree(port, host).catch((cause: Error) => {
    throw new LocalError('setting_invalid', `${name}: cannot listen on ${host}:${port}: ${cause.message}`, {
      cause,
    })
  })
}

/** Skips used ports and other defaults. */
export async function nextFree(first: number, { host, used }: PortSearch): Promise<number> {
  for (let port = first; port < first + 1_000; port++) {
    const reserved = port !== first && RESERVED.includes(port)
    if (!reserved && !used.includes(port) && (await isFree(port, host))) return port
  }
  return freePort(host, used)
}

export type KafkaPortsOptions = {
  folder: string
  taken: readonly number[]
  /** Ports of what runs elsewhere are neither checked nor changed. */
  started: { kafka: boolean; registry: boolean }
  /** Gets a line for each port that is not the one of the last start, or the default. */
  onChange(line: string): void
}

export async function chooseKafkaPorts(options: KafkaPortsOptions): Promise<KafkaPorts> {
  const { folder, taken, started, onChange } = options
  const path = join(folder, 'ports.json')
  const stored = await readFile(path, 'utf8')
    .then((text) => kafkaPorts.parse(JSON.parse(text)))
    .catch(() => KAFKA_DEFAULTS)
  const { kafka: oldKafka, controller: oldController, registry: oldRegistry } = stored
  const kafka = started.kafka ? await sameOrFree(oldKafka, taken) : oldKafka
  const controller = started.kafka ? await sameOrFree(oldController, [...taken, kafka]) : oldController
  const registry = started.registry
    ? await sameOrFree(oldRegistry, [...taken, kafka, controller])
    : oldRegistry
  const report = (name: string, old: number, port: number) => {
    if (port !== old) onChange(`${name}: port ${old} is taken, using ${port} from now on`)
  }
  report('Kafka', oldKafka, kafka)
  report('schema registry', oldRegistry, registry)
  const chosen = { kafka, controller, registry }
  await writeFileAtomically(path, JSON.stringify(chosen))
  return chosen
}

async function sameOrFree(port: number, taken: readonly number[]): Promise<number> {
  return !taken.includes(port) && (await isFree(port, LOOPBACK)) ? port : freePort(LOOPBACK, taken)
}

const PORTS_EACH = 100
const PROCESSES = 170
let next = randomInt(PORTS_EACH)

/**
 * The first of this process's own range: in a shared one, two processes could find the same port. All ranges are below
 * the ports of outgoing connections (decision 4).
 */
export const firstPortOf = (pid: number): number => 15_000 + (pid % PROCESSES) * PORTS_EACH

/** Rotates through the range, as a port that was found may not be in use yet. */
export async function freePort(host = LOOPBACK, avoid: readonly number[] = []): Promise<number> {
  for (let attempt = 0; attempt < PORTS_EACH; attempt++) {
    const port = firstPortOf(process.pid) + (next++ % PORTS_EACH)
    if (!avoid.includes(port) && (await isFree(port, host))) return port
  }
  throw new Error(`no free port from ${firstPortOf(process.pid)} on ${host}`)
}

/** @throws any error but "address in use" */
function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
    )
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)))
  })
}
