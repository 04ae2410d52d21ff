import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Env, freePorts, type Launched, launch } from '../harness/launch.ts'
import { until } from '../harness/until.ts'
import { ROLES, type Role } from '../settings/config-key.ts'
import { type Clock, openClock, removeShared } from './faketime.ts'
import { elapsed, printErrors } from './program.ts'

const GRACE_MS = 20_000
const RESTART_MS = 500
export const READY_MS = 120_000

/** `right` never changes. */
export type ClockName = Role | 'right'

export async function openClocks(faketime: string, folder: string): Promise<Map<ClockName, Clock>> {
  const clocks = new Map<ClockName, Clock>()
  for (const name of [...ROLES, 'right'] as const)
    clocks.set(name, await openClock(faketime, join(folder, `clock-${name}`)))
  return clocks
}

type Machine = { clocks: ReadonlyMap<ClockName, Clock>; logs: string }

/** One process of each role. Those that end are restarted. */
export class Processes {
  readonly #env: Env
  readonly #machine: Machine
  readonly #current = new Map<Role, Launched>()
  /** Processes that a planned fault ends. */
  readonly #meant = new Set<Launched>()
  readonly #changed = new Map<Role, Env>()
  #deaths = 0
  #closed = false

  constructor(env: Env, machine: Machine) {
    this.#env = env
    this.#machine = machine
    for (const role of ROLES) this.#run(role)
  }

  #run(role: Role): void {
    const { clocks, logs } = this.#machine
    const logFile = join(logs, `${role}.log`)
    const env = { ...this.#env, ...this.#changed.get(role) }
    const launched = launchWith(role, env, { clock: clocks.get(role), logFile })
    this.#current.set(role, launched)
    void launched.exited.then(async ({ code, signal }) => {
      if (this.#closed) return
      if (!this.#meant.delete(launched)) {
        this.#deaths += 1
        process.stderr.write(`    ${role} ended on its own: ${code ?? signal}\n`)
      }
      await sleep(RESTART_MS)
      if (!this.#closed) this.#run(role)
    })
  }

  running(role: Role): Launched {
    const launched = this.#current.get(role)
    if (!launched) throw new Error(`${role} is not running`)
    return launched
  }

  deaths(): number {
    return this.#deaths
  }

  async ready(): Promise<void> {
    // always the current one, as it may end during the wait
    for (const role of ROLES) await until(() => isReady(this.running(role)), { timeout: READY_MS })
  }

  async end(role: Role, how: 'kill' | 'end'): Promise<void> {
    this.#meant.add(this.running(role))
    await endOne(this.running(role), how)
  }

  /** One more process for a while. */
  async another(role: Role, forMs: number, goes: 'kill' | 'end'): Promise<void> {
    const { clocks, logs } = this.#machine
    const env = { ...this.#env, ...(await freePorts(this.#env)) }
    const logFile = join(logs, `another-${role}.log`)
    const launched = launchWith(role, env, { clock: clocks.get('right'), logFile })
    await sleep(forMs)
    await endOne(launched, goes)
  }

  async restartWith(role: Role, settings: Env): Promise<void> {
    this.#changed.set(role, settings)
    await this.end(role, 'end')
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#current.values()].map((launched) => launched.kill()))
  }
}

async function isReady(launched: Launched): Promise<true> {
  await launched.ready(READY_MS)
  return true
}

function launchWith(
  role: Role,
  env: Env,
  { clock, logFile }: { clock: Clock | undefined; logFile: string },
): Launched {
  const print = printErrors(role)
  const launched = launch(role, { ...env, ...clock?.env }, (line) => {
    print(line)
    appendFileSync(logFile, `${elapsed()}  ${line}\n`)
  })
  if (clock) void launched.exited.then(() => removeShared(launched.pid))
  return launched
}

const endOne = (launched: Launched, how: 'kill' | 'end') =>
  how === 'kill' ? launched.kill() : launched.stop(GRACE_MS)
