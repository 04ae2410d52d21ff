import { existsSync, globSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Code that starts a test's own brokers, `npm start` or Kafka's tools. */
const STARTS_JAVA = /\b(startOwnBroker|startOwnCluster|borrowBroker|secured-broker|consumer-groups)\b/

/** Whether Java is installed. An outdated one fails when it starts a broker. */
export function hasJava({ JAVA_HOME, PATH = '' }: NodeJS.ProcessEnv): boolean {
  const folders = JAVA_HOME ? [join(JAVA_HOME, 'bin')] : PATH.split(delimiter)
  return folders.some((folder) => existsSync(join(folder, 'java')))
}

/** Test files that cannot use the broker in a container, so they do not run without Java. */
export const needingJava = (): string[] => [
  ...globSync('test/flow/*.test.ts').filter((file) => STARTS_JAVA.test(readFileSync(file, 'utf8'))),
  'test/local/broker.test.ts',
  'test/local/registry.test.ts',
  'test/local/start.test.ts',
]
