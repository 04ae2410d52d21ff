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
  /** Calls that were accepted and then reported as not delivered. */
  lost: number
  /** Bytes; -1 if the system does not report them. */
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
  /** The second half of the calls is made when this resolves. */
  secondHalf?: Promise<void>
  /** Called when the library sends a batch again. The first try may have been accepted. */
  onAgain: () => void
}

export const nodeLibrary: ClientLibrary = {
  name: 'node',
  // at full speed, V8 postpones collecting garbage; with a small heap, holding a million calls would end the process
  produce: (calls) => produced(process.execPath, ['--max-old-space-size=96', 'produce.ts'], calls),
}

/** Builds the program first, so that the time of a test does not include the compiler's. */
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
