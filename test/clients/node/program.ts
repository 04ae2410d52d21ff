import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

export type Run = {
  /** On stdout so far; `complained` on stderr. */
  printed(): string
  complained(): string
  kill(signal: NodeJS.Signals): void
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

/** Runs a program, which is killed at the end of the test. */
export function run(program: string, args: readonly string[], flags: readonly string[] = []): Run {
  const file = fileURLToPath(new URL(`programs/${program}.ts`, import.meta.url))
  const child = spawn(process.execPath, [...flags, file, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let [printed, complained] = ['', '']
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  child.stderr.on('data', (chunk) => {
    complained += chunk
  })
  const { promise: ended, resolve } = Promise.withResolvers<Awaited<Run['ended']>>()
  child.on('close', (code, signal) => resolve({ code, signal }))
  onTestFinished(() => void child.kill('SIGKILL'))
  return {
    printed: () => printed,
    complained: () => complained,
    kill: (signal) => void child.kill(signal),
    ended,
  }
}
