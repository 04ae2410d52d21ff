import { existsSync, globSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** What starts brokers of a test's own, runs `npm start`, or runs Kafka's tools. */
const STARTS_JAVA = /\b(startOwnBroker|startOwnCluster|borrowBroker|secured-broker|consumer-groups)\b/

/** Whether there is a Java; whether it is recent enough shows when it starts a broker. */
export function hasJava({ JAVA_HOME, PATH = '' }: NodeJS.ProcessEnv): boolean {
  const folders = JAVA_HOME ? [join(JAVA_HOME, 'bin')] : PATH.split(delimiter)
  return folders.some((folder) => existsSync(join(folder, 'java')))
}

/** Files whose tests cannot use the broker in a container: without Java they are not run. */
export const needingJava = (): string[] => [
  ...globSync('test/flow/*.test.ts').filter((file) => STARTS_JAVA.test(readFileSync(file, 'utf8'))),
  'test/local/broker.test.ts',
  'test/local/registry.test.ts',
  'test/local/start.test.ts',
]
