import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { killAllChildren } from '../local/child-process.ts'

const folders: string[] = []

/** @returns a new folder that goes when this process exits. */
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

/** Has Ctrl-C and the like end first all that was started and then this process, with its folders. */
export function exitWhenInterrupted(): void {
  // each time: npm passes a Ctrl-C on that has reached this process already, and a second one unheard would end it with nothing removed
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => void killAllChildren().then(() => process.exit(130)))
}
