import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { killAllChildren } from '../../local/processes/child-process.ts'

/** Removed at the end of the test, after all running processes are killed. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  onTestFinished(async () => {
    await killAllChildren()
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  })
  return folder
}
