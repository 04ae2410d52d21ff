import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { until } from '../../harness/until.ts'
import { startTimeOf } from '../../local/lock.ts'
import { COMPILED, filesIn, processesIn } from './left-behind.ts'

/**
 * Vitest's globalSetup, the first of each project. The temporary files of the run are in one folder, which is removed at
 * its end. The run fails if a test has left a file there, or a process.
 */
export async function setup({ vitest }: TestProject): Promise<void> {
  // of the other project
  if (process.env.SLUICE_TEST_RUN) return
  await removeOfKilled()
  const folder = await mkdtemp(join(tmpdir(), `${NAME}${process.pid}-`))
  process.env.SLUICE_TEST_RUN = folder
  process.env.TMPDIR = folder
  // for the workers and all processes that they start: code is read and compiled once
  process.env.NODE_COMPILE_CACHE = join(folder, COMPILED)
  vitest.onClose(async () => {
    // the workers are ending now, and with them what they have started
    const ended = until(() => processesIn(folder).length === 0, { timeout: 60_000 })
    const alive = await ended.then(
      () => [],
      () => processesIn(folder),
    )
    const left = [...alive, ...(await filesIn(folder))]
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    if (left.length === 0) return
    process.exitCode = 1
    process.stderr.write(`left behind by the tests:\n  ${left.join('\n  ')}\n`)
  })
}

const NAME = 'sluice-run-'

/** A run that is killed cannot remove its folder. The name has the process id of the run. */
async function removeOfKilled(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const [, pid] = /^sluice-run-(\d+)-/.exec(name) ?? []
    if (pid && startTimeOf(Number(pid)) === undefined)
      await rm(join(tmpdir(), name), { recursive: true, force: true })
  }
}
