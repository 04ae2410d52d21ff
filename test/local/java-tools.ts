import { archiveFlags } from '../../local/kafka/class-archive.ts'
import { cacheFolder, kafkaJars, registryApp } from '../../local/kafka/downloads.ts'
import { findJava } from '../../local/kafka/java.ts'

const silent = () => {}

/** From the cache that the run's shared broker has filled. */
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
