import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startSink } from '../receivers/sink-process.ts'
import { scratchFolder } from '../scratch.ts'
import { type Measured, table } from './table.ts'

const run = promisify(execFile)
const folder = fileURLToPath(new URL('.', import.meta.url))

/** Of which the peers' batches, of 250 and of 15, are all full: one that is not waits for its time. */
const CALLS = { go: 400_000, node: 99_000 }
const LIMIT_MS = 120_000

/** @returns the section of RESULTS.md: the client libraries beside those of the service whose calls they make. */
export async function bench({ rounds = 4 } = {}): Promise<string> {
  const program = join(await scratchFolder('bench'), 'clients')
  await run('go', ['build', '-o', program, '.'], { cwd: join(folder, 'go') })
  const libraries = {
    go: (which: string, url: string) => run(program, [which, url, String(CALLS.go)], { timeout: LIMIT_MS }),
    node: (which: string, url: string) =>
      run(process.execPath, [join(folder, 'node.ts'), which, url, String(CALLS.node)], {
        timeout: LIMIT_MS,
      }),
  }
  const measured: Measured[] = []
  for (let round = 1; round <= rounds; round++)
    for (const language of ['go', 'node'] as const)
      for (const which of ['ours', 'peer'] as const) {
        await using sink = await disposable(startSink())
        const { stdout } = await libraries[language](which, `http://127.0.0.1:${sink.port}`)
        const { requests } = await sink.since()
        const one = { language, which, requests, ...JSON.parse(stdout) }
        process.stderr.write(`${round}: ${JSON.stringify(one)}\n`)
        measured.push(one)
      }
  return `${EXPLAINED}\n\n${table(measured)}`
}

async function disposable<T extends { stop(): Promise<void> }>(
  starting: Promise<T>,
): Promise<T & AsyncDisposable> {
  const it = await starting
  return Object.assign(it, { [Symbol.asyncDispose]: () => it.stop() })
}

const EXPLAINED = `Track calls of some 400 bytes, as fast as the library takes them, to a receiver on the same machine that answers 200 at once, until the library is
closed and all are delivered: ${CALLS.go.toLocaleString('en-US')} from eight goroutines, ${CALLS.node.toLocaleString('en-US')} from Node, where 100 are made in a turn of the event loop. Each library with its defaults, in
a process of its own: ours send gzip, the peers plain JSON. The peers are segmentio/analytics-go 3.3 and @segment/analytics-node 3.1. CPU is that of the whole process,
what it sends in the background included. Failed: reported as not delivered by the library. Go's bytes are counted, Node's are sampled; the map or object that the caller makes for each call is among them. Median of the rounds, which alternate, with the lowest and the highest.`
