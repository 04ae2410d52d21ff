import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { LocalFault } from './fault.ts'

const OLDEST = 17

export const WAYS_OUT = `Ways out, any one of them:
  - install Java >= ${OLDEST} and Maven, for example on Debian: apt-get install openjdk-17-jre-headless maven
  - set KAFKA_BROKERS and SCHEMA_REGISTRY_URL to a broker and a registry that exist
  - run it in containers: docker compose up`

/** The program that runs Kafka and the registry, and all that it says of its version. */
export type Java = { program: string; version: string }

/** @throws LocalFault java_missing, also when it is too old */
export async function findJava(env: NodeJS.ProcessEnv): Promise<Java> {
  const program = env.JAVA_HOME ? join(env.JAVA_HOME, 'bin', 'java') : 'java'
  const version = await askVersion(program, env)
  const major = version === undefined ? undefined : majorVersion(version)
  if (version === undefined || major === undefined)
    throw new LocalFault('java_missing', `Java is missing: ${program} does not run.\n${WAYS_OUT}`)
  if (major < OLDEST)
    throw new LocalFault('java_missing', `Java ${major} (${program}) is too old.\n${WAYS_OUT}`)
  return { program, version }
}

/** Undefined when it does not run: macOS has a `java` that only says where to get one. */
function askVersion(program: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(program, ['-version'], { env }, (error, _stdout, stderr) => resolve(error ? undefined : stderr))
  })
}

/** `openjdk version "17.0.15"` is 17, `java version "1.8.0_292"` is 8. */
export function majorVersion(text: string): number | undefined {
  const digits = /version "(?:1\.)?(\d+)/.exec(text)?.[1]
  return digits === undefined ? undefined : Number(digits)
}
