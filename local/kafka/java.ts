import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { LocalError } from '../errors.ts'

const OLDEST = 17

export const WAYS_OUT = `Do one of these:
  - install Java >= ${OLDEST} and Maven, for example on Debian: apt-get install default-jre-headless maven
  - set KAFKA_BROKERS and SCHEMA_REGISTRY_URL to an existing broker and registry
  - run everything in containers: docker compose up`

/** `version`: the full text of `java -version`. */
export type Java = { program: string; version: string }

/** @throws LocalError java_missing, also for an old version */
export async function findJava(env: NodeJS.ProcessEnv): Promise<Java> {
  const program = env.JAVA_HOME ? join(env.JAVA_HOME, 'bin', 'java') : 'java'
  const version = await askVersion(program, env)
  const major = version === undefined ? undefined : majorVersion(version)
  if (version === undefined || major === undefined)
    throw new LocalError('java_missing', `Java is missing: cannot run ${program}.\n${WAYS_OUT}`)
  if (major < OLDEST)
    throw new LocalError('java_missing', `Java ${major} (${program}) is too old.\n${WAYS_OUT}`)
  return { program, version }
}

/** Undefined if it does not run: the `java` of macOS may only say where to get one. */
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

/** Keeps output to explain why a Java program exited. */
export class JavaOutput {
  readonly #lines = new Set<string>()

  add(line: string): void {
    if (/^\s+(at |\.\.\. \d+ more)/.test(line) || line.trim() === '') return
    if (this.#lines.size < 50) this.#lines.add(line.trim())
  }

  toString(): string {
    if (this.#lines.size === 0) return 'It printed nothing.'
    // an exception is printed several times, with its cause in the first lines
    return `It printed:\n  ${[...this.#lines].slice(0, 5).join('\n  ')}`
  }
}
