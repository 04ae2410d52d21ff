import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Broker, startBroker } from '../../local/broker.ts'
import { cacheFolder } from '../../local/cache.ts'
import { kafkaJars } from '../../local/jars.ts'
import { findJava } from '../../local/java.ts'

/** A broker that a test may kill and start again; gone with its folder at the end of the test. */
export async function ownBroker(): Promise<{ now: Broker; restart(how: 'kill' | 'stop'): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const jars = await kafkaJars(await cacheFolder(process.env), () => undefined)
  const own = {
    now: await startBroker({
      directory: join(folder, 'kafka'),
      java: (await findJava(process.env)).program,
      jars,
    }),
    async restart(how: 'kill' | 'stop') {
      await own.now[how]()
      own.now = await own.now.again()
    },
  }
  onTestFinished(async () => void (await own.now.kill()))
  return own
}
