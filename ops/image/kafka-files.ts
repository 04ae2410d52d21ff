import { argv, stdout } from 'node:process'
import { cacheFolder, kafkaJars, mavenFile, toolsJar } from '../../local/kafka/downloads.ts'

// Prints the folder of Kafka's jars, the jar of its tools, and the archive of the registry, one per line.
// Argument: the registry's version.
const cache = await cacheFolder(process.env)
const jars = await kafkaJars(cache, () => undefined)
const registry = await mavenFile(cache, `io.apicurio:apicurio-registry-app:${argv[2]}:tar.gz:all`)
stdout.write(`${[jars, await toolsJar(cache, jars), registry].join('\n')}\n`)
