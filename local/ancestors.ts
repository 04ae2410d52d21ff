import { type ProcessFacts, processFacts } from './process-facts.ts'

const NPM = /(^|[\s/])(npm|npx|pnpm|yarn|bun)(-cli)?(\.c?js)?(\s|$)/
const SHELL = /^(\S*\/)?(sh|bash|dash|zsh|ash)\s/
/** More than there ever are between npm and us: a shell, a wrapper of Node's. */
const DEEPEST = 5

type FactsOf = (pid: number) => ProcessFacts | undefined

/**
 * The pids from our parent up to npm, when npm started us; else none: whoever starts us from a shell in the background may
 * end that shell.
 */
export function pidsUpToNpm(
  env: NodeJS.ProcessEnv,
  parent: number,
  factsOf: FactsOf = processFacts,
): number[] {
  if (!env.npm_lifecycle_event) return []
  const pids: number[] = []
  for (let pid = parent; pids.length < DEEPEST; ) {
    const facts = factsOf(pid)
    if (!facts) return []
    pids.push(pid)
    if (NPM.test(facts.command) && !SHELL.test(facts.command)) return pids
    pid = facts.parent
  }
  return []
}

/** Whether each still is the parent of the one below: a process that lost its parent has got another one. */
export function isChainWhole(
  pids: readonly number[],
  parent: number,
  factsOf: FactsOf = processFacts,
): boolean {
  return pids.every((pid, index) => {
    const below = pids[index - 1]
    return (below === undefined ? parent : factsOf(below)?.parent) === pid
  })
}

/** Calls `onGone` once when npm, or what stands between npm and us, is gone: nobody would end us then. */
export function watchAncestors(env: NodeJS.ProcessEnv, onGone: () => void): void {
  const pids = pidsUpToNpm(env, process.ppid)
  if (pids.length === 0) return
  const timer = setInterval(() => {
    if (isChainWhole(pids, process.ppid)) return
    clearInterval(timer)
    onGone()
  }, 250)
  timer.unref()
}
