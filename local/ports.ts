import { LocalFault } from './fault.ts'
import { freePort, isFree } from './free-port.ts'
import { FIRST } from './kept-ports.ts'

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

const RESERVED = [...Object.values(DEFAULTS), ...Object.values(FIRST)]

// of an object with exactly these keys
const names = Object.keys(DEFAULTS) as PortName[]

/**
 * A port for each process, fixed for this run so that a restarted process keeps its own. A default that is taken gives way to
 * the next free one, and `say` tells so. @throws LocalFault port_taken, setting_invalid for one that was asked for
 */
export async function choosePorts(
  env: NodeJS.ProcessEnv,
  host: string,
  say: (line: string) => void,
): Promise<Ports> {
  const chosen: Ports = { ...DEFAULTS }
  const used: number[] = []
  // those asked for come first, so that no default takes theirs
  for (const name of [...names].sort((a, b) => Number(!env[a]) - Number(!env[b]))) {
    const port = await choose(name, env[name], host, used)
    if (!env[name] && port !== DEFAULTS[name]) say(`${name}: ${DEFAULTS[name]} is taken, using ${port}`)
    chosen[name] = port
    used.push(port)
  }
  return chosen
}

async function choose(
  name: PortName,
  asked: string | undefined,
  host: string,
  used: readonly number[],
): Promise<number> {
  if (!asked) return nextFree(DEFAULTS[name], host, used)
  const port = Number(asked)
  if (!/^\d+$/.test(asked) || port > 65_535)
    throw new LocalFault('setting_invalid', `${name}: "${asked}" is no port`)
  if (port === 0) return freePort(host, used)
  if (used.includes(port))
    throw new LocalFault('port_taken', `${name}: ${port} is the port of another process, too`)
  if (await usable(port, host, name)) return port
  throw new LocalFault(
    'port_taken',
    `${name}: port ${port} on ${host} is taken. Set another one, or 0 for any free one.`,
  )
}

async function nextFree(first: number, host: string, used: readonly number[]): Promise<number> {
  for (let port = first; port < first + 1_000; port++) {
    // the defaults of the others are theirs
    const reserved = port !== first && RESERVED.includes(port)
    if (!reserved && !used.includes(port) && (await isFree(port, host))) return port
  }
  return freePort(host, used)
}

async function usable(port: number, host: string, name: PortName): Promise<boolean> {
  return isFree(port, host).catch((cause: Error) => {
    throw new LocalFault('setting_invalid', `${name}: cannot listen on ${host}:${port}: ${cause.message}`, {
      cause,
    })
  })
}
