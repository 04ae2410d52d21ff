import { archiveFlags } from '../../local/archive.ts'
import { cacheFolder } from '../../local/cache.ts'
import { kafkaJars, registryApp } from '../../local/jars.ts'
import { findJava } from '../../local/java.ts'

const silent = () => {}

/** What `startBroker` and `startRegistry` need; in the cache already, since the run's own broker was started from it. */
export async function javaTools() {
  const java = await findJava(process.env)
  const cache = await cacheFolder(process.env)
  return {
    forBroker: {
      java: java.program,
      jars: await kafkaJars(cache, silent),
      jvmFlags: await archiveFlags({ java, cache, name: 'kafka' }),
    },
    forRegistry: {
      java: java.program,
      jar: await registryApp(cache, silent),
      jvmFlags: await archiveFlags({ java, cache, name: 'registry' }),
    },
  }
}
