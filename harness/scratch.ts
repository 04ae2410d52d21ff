import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { killAllChildren } from '../local/processes/child-process.ts'

const folders: string[] = []

/** @returns a new folder, which is removed when this process exits */
export async function scratchFolder(purpose: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `sluice-${purpose}-`))
  if (folders.push(folder) === 1) process.once('exit', removeAll)
  return folder
}

function removeAll(): void {
  for (const folder of folders)
    try {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    } catch (error) {
      process.stderr.write(`${folder} stays: ${error}\n`)
    }
}

/** Ends all children, then this process, and removes its scratch folders. */
export function exitWhenInterrupted(): void {
  // not `once`: npm repeats a Ctrl-C, and a second signal without a listener would end this process at once
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => void killAllChildren().then(() => process.exit(130)))
}
