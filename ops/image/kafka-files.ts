import { dirname } from 'node:path'
import { stdout } from 'node:process'
import { cacheFolder, createDownloads, toolsJar } from '../../local/kafka/downloads.ts'

// Prints the paths of Kafka's jars, the registry and the jar of Kafka's tools, one per line.
const cache = await cacheFolder(process.env)
const downloads = await createDownloads(cache, ['kafka', 'registry'], () => undefined)
const jars = await downloads.kafkaJars()
const registry = dirname(await downloads.registryApp())
stdout.write(`${[jars, registry, await toolsJar(cache, jars)].join('\n')}\n`)
