import { join } from 'node:path'
import { markdownTable } from '../../harness/results.ts'
import { scratchFolder } from '../../harness/scratch.ts'
import { ROOT } from '../../local/data-folder.ts'
import { startBroker } from '../../local/kafka/broker.ts'
import { archiveFlags } from '../../local/kafka/class-archive.ts'
import { cacheFolder, kafkaJars } from '../../local/kafka/downloads.ts'
import { findJava } from '../../local/kafka/java.ts'
import { spawnChild } from '../../local/processes/child-process.ts'
import { median, spread, verdict } from '../figures/summary.ts'
import { machineSeconds } from '../stack/machine.ts'

const GOAL_SECONDS = 10
const ROUNDS = 5
const LIMIT_MS = 120_000
/** Any free port, as the default ones may be in use. */
const FREE_PORTS = {
  INGEST_PORT: '0',
  CONTROL_PORT: '0',
  ROUTER_PORT: '0',
  DELIVERER_PORT: '0',
  INGEST_METRICS_PORT: '0',
  CONTROL_METRICS_PORT: '0',
}

/** `idleShare`: of the cores, until ready. */
type Start = { seconds: number; idleShare: number }

/** Starts with an existing data folder. */
export async function bench({ rounds = ROUNDS } = {}): Promise<string> {
  const folder = await scratchFolder('start')
  const kafka = await kafkaAlone(join(folder, 'kafka-alone'))
  const all = () => npmStart(join(folder, 'data'))
  const first = { kafka: await timed('Kafka, first', kafka), all: await timed('npm start, first', all) }
  const again: { kafka: Start; all: Start }[] = []
  for (let round = 0; round < rounds; round++)
    again.push({ kafka: await timed('Kafka', kafka), all: await timed('npm start', all) })
  return report(first, again)
}

type Ready = { end(): Promise<unknown> }

async function timed(name: string, start: () => Promise<Ready>): Promise<Start> {
  const [machine, begun] = [machineSeconds(), performance.now()]
  const { end } = await start()
  const seconds = (performance.now() - begun) / 1_000
  const now = machineSeconds()
  await end()
  process.stderr.write(`${name}: ${seconds.toFixed(1)} s\n`)
  return { seconds, idleShare: (now.idle - machine.idle) / (now.all - machine.all) }
}

/** With the flags and the class archive of `npm start`. */
async function kafkaAlone(directory: string): Promise<() => Promise<Ready>> {
  const java = await findJava(process.env)
  const cache = await cacheFolder(process.env)
  const jars = await kafkaJars(cache, (text) => void process.stderr.write(`${text}\n`))
  return async () => {
    const jvmFlags = await archiveFlags({ java, cache, name: 'kafka' })
    const broker = await startBroker({ directory, java: java.program, jars, jvmFlags })
    return { end: () => broker.stop() }
  }
}

async function npmStart(data: string): Promise<Ready> {
  const printed: string[] = []
  const ready = Promise.withResolvers<'ready'>()
  const { KAFKA_BROKERS: _, SCHEMA_REGISTRY_URL: __, ...own } = process.env
  const tied = spawnChild('npm', {
    args: ['start'],
    cwd: ROOT,
    env: { ...own, ...FREE_PORTS, SLUICE_DATA: data },
    onLine(line) {
      printed.push(line)
      if (line === 'sluice ready') ready.resolve('ready')
    },
  })
  const timer = setTimeout(() => void tied.kill(), LIMIT_MS)
  const result = await Promise.race([ready.promise, tied.exited]).finally(() => clearTimeout(timer))
  if (result !== 'ready') throw new Error(`npm start did not become ready:\n${printed.slice(-20).join('\n')}`)
  return { end: () => tied.stop(30_000) }
}

function report(first: { kafka: Start; all: Start }, again: readonly { kafka: Start; all: Start }[]): string {
  const of = (what: 'kafka' | 'all') => again.map((round) => round[what])
  const seconds = (what: 'kafka' | 'all') => of(what).map((start) => start.seconds)
  const row = (name: string, what: 'kafka' | 'all', ...rest: string[]) => [
    name,
    first[what].seconds.toFixed(1),
    `**${spread(seconds(what), 1)}**`,
    ...rest,
    `${(median(of(what).map(({ idleShare }) => idleShare)) * 100).toFixed(0)} %`,
  ]
  const ratio = spread(again.map(({ all, kafka }) => all.seconds / kafka.seconds))
  return `\`npm start\` until it says \`sluice ready\`: Kafka, the registry and the four processes on one machine. "Again": with an
existing data folder. "Kafka alone" is the same broker with the same flags and class archive on its own folder, until it
serves. One-time downloads are already there in both cases. Median of ${again.length} alternating rounds, with the lowest and the
highest.

${markdownTable(
  ['', 'first start, s', 'again, s', 'ratio', 'goal, s', 'machine idle'],
  [row('Kafka alone', 'kafka', '', ''), row('**npm start**', 'all', `**${ratio}**`, `<= ${GOAL_SECONDS}`)],
)}

${verdict([{ what: '`npm start`, again, in seconds', is: median(seconds('all')), atMost: GOAL_SECONDS }])}`
}
