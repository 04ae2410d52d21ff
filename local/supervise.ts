import { join } from 'node:path'
import { type Kept, keepRunning, type Warn } from './keep.ts'
import { type Exit, spawnTiedNode } from './tied.ts'

export type SuperviseOptions = {
  /** Paths of the programs under `root`, by name. */
  programs: Readonly<Record<string, string>>
  root: string
  env: NodeJS.ProcessEnv
  log: Warn
  /** Aborted when everything is to end. */
  ending: AbortSignal
  /** Told when a program refuses its settings (exit code 2) before all are ready; it has printed why. */
  onRefused: (name: string) => void
}

export type Supervised = {
  /** From now on exit code 2 is an end like any other: the settings were accepted before. */
  accepted(): void
  /** SIGTERM to all at once; SIGKILL to those that are still there after `graceMs`. */
  stop(graceMs: number): Promise<void>
}

const REFUSED = 2

/** Starts the programs and keeps them running. */
export function supervise({ programs, root, env, log, ending, onRefused }: SuperviseOptions): Supervised {
  let accepted = false
  const keep = ([name, script]: [string, string]): Kept => {
    const start = () => spawnTiedNode(join(root, script), { args: [], cwd: root, env })
    const isFinal = ({ code }: Exit) => {
      const refused = code === REFUSED && !accepted
      if (refused) onRefused(name)
      return refused
    }
    return keepRunning({ name, first: start(), again: async () => start(), log, ending, isFinal })
  }
  const kept = Object.entries(programs).map(keep)
  return {
    accepted: () => {
      accepted = true
    },
    stop: async (graceMs) => {
      await Promise.all(kept.map((process) => process.stop(graceMs)))
    },
  }
}
