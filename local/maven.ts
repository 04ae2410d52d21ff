import { LocalFault } from './fault.ts'
import { WAYS_OUT } from './java.ts'
import { spawnTied } from './tied.ts'

export type MavenRun = {
  goal: 'copy-dependencies' | 'copy'
  args: readonly string[]
  cwd: string
  /** Megabytes that came down so far. */
  onProgress: (megabytes: number) => void
}

/** Newer ones want the parent POM of what they copy, and the registry's is not on Maven Central. Runs on Maven 3.8 to 4.0. */
const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:2.8'

/** Not in batch mode, whose output has no progress. @throws LocalFault maven_missing, download_failed */
export async function runMaven({ goal, args, cwd, onProgress }: MavenRun): Promise<void> {
  const errors: string[] = []
  let finished = 0
  const onLine = (line: string) => {
    // Progress overwrites itself with carriage returns, which readline takes for line ends
    const done = /^Downloaded from .*\(([\d.]+) (kB|MB)/.exec(line)
    if (done) finished += megabytes(done[1], done[2])
    const underWay = [...(/^Progress/.test(line) ? line.matchAll(/([\d.]+)(?:\/[\d.]+)? (kB|MB)/g) : [])]
    if (done || underWay.length > 0)
      onProgress(finished + sum(underWay.map((part) => megabytes(part[1], part[2]))))
    if (line.includes('ERROR') || /not found/.test(line)) errors.push(line)
  }
  const { code } = await spawnTied('mvn', {
    args: ['-Dstyle.color=never', `${PLUGIN}:${goal}`, ...args],
    cwd,
    onLine,
  }).exited
  if (code === 0) return
  if (code === 127)
    throw new LocalFault('maven_missing', `Maven (mvn) is missing; it fetches Kafka once.\n${WAYS_OUT}`)
  throw new LocalFault(
    'download_failed',
    `Maven failed (exit code ${code}):\n${errors.slice(0, 5).join('\n')}\n${WAYS_OUT}`,
  )
}

const megabytes = (amount = '0', unit = 'MB') => Number(amount) / (unit === 'kB' ? 1000 : 1)
const sum = (amounts: readonly number[]) => amounts.reduce((total, amount) => total + amount, 0)
