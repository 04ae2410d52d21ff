import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const folder = fileURLToPath(new URL('../clients', import.meta.url))

/** The report of a program that sent calls with one of the client libraries. */
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
  produce(calls: Calls): Promise<Produced>
}

export type Calls = {
  endpoint: string
  writeKey: string
  count: number
  maxQueue: number
  /** The second half of the calls is made when this is. */
  secondHalf?: Promise<void>
  /** Called when the library says that a batch is sent again: whether it was taken before is not known. */
  onAgain: () => void
}

export const nodeLibrary: ClientLibrary = {
  name: 'node',
  // as fast as it can V8 lets garbage lie: with a small heap what is held of a million calls would end the process
  produce: (calls) => produced(process.execPath, ['--max-old-space-size=96', 'produce.ts'], calls),
}

/** Built first, so that the time of a test is not the compiler's. */
export async function buildGoLibrary(): Promise<ClientLibrary & { close(): Promise<void> }> {
  const built = await mkdtemp(join(tmpdir(), 'sluice-go-'))
  const program = join(built, 'produce')
  await run('go', ['build', '-o', program, '.'], { cwd: join(folder, 'go') })
  return {
    name: 'go',
    produce: (calls) => produced(program, [], calls),
    close: () => rm(built, { recursive: true }),
  }
}

async function produced(program: string, first: readonly string[], calls: Calls): Promise<Produced> {
  const { endpoint, writeKey, count, maxQueue, secondHalf, onAgain } = calls
  const args = [...first, endpoint, writeKey, String(count), String(maxQueue)]
  const running = run(program, secondHalf ? [...args, 'gated'] : args, { cwd: folder, timeout: 600_000 })
  const { stdin, stderr } = running.child
  if (stderr) createInterface(stderr).on('line', (line) => line.includes('retrying') && onAgain())
  await secondHalf
  stdin?.end('go on\n')
  const { stdout } = await running
  return JSON.parse(stdout)
}
