import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const folder = fileURLToPath(new URL('../clients', import.meta.url))

/** What a program says that has sent so many calls with one of the project's own client libraries. */
export type Produced = {
  /** Calls that returned an error. */
  refused: number
  /** Calls that were taken and then reported as not delivered. */
  lost: number
  /** Bytes; -1 where the system does not tell. */
  maxRss: number
}

export type ClientLibrary = {
  name: 'node' | 'go'
  /** Sends calls `<name>-0`, `<name>-1` and so on from eight goroutines or async producers, and closes. */
  produce(calls: { endpoint: string; writeKey: string; count: number; maxQueue: number }): Promise<Produced>
}

export const nodeLibrary: ClientLibrary = {
  name: 'node',
  produce: ({ endpoint, writeKey, count, maxQueue }) =>
    produced(process.execPath, ['produce.ts', endpoint, writeKey, String(count), String(maxQueue)]),
}

/** Built first, so that the time of a test is not the compiler's. */
export async function buildGoLibrary(): Promise<ClientLibrary & { close(): Promise<void> }> {
  const built = await mkdtemp(join(tmpdir(), 'sluice-go-'))
  const program = join(built, 'produce')
  await run('go', ['build', '-o', program, '.'], { cwd: join(folder, 'go') })
  return {
    name: 'go',
    produce: ({ endpoint, writeKey, count, maxQueue }) =>
      produced(program, [endpoint, writeKey, String(count), String(maxQueue)]),
    close: () => rm(built, { recursive: true }),
  }
}

async function produced(program: string, args: readonly string[]): Promise<Produced> {
  const { stdout } = await run(program, args, { cwd: folder, timeout: 300_000 })
  return JSON.parse(stdout)
}
