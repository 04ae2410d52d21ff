import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { inject } from 'vitest'
import type { Connection } from '../../kafka/client.ts'
import { cacheFolder, kafkaJars, toolsJar } from '../../local/kafka/downloads.ts'
import { findJava } from '../../local/kafka/java.ts'

/** A line of Kafka's own tool; a dash is null. Names are without prefix. */
export type Described = {
  group: string
  topic: string
  partition: number
  committed: number | null
  end: number
  lag: number | null
}

const TOOL = 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand'

/** The output of `kafka-consumer-groups.sh --describe` for these groups. */
export async function describeGroups(
  { named, plain }: Pick<Connection, 'named' | 'plain'>,
  groups: readonly string[],
): Promise<Described[]> {
  const stdout = await runTool(['--describe', ...groups.flatMap((group) => ['--group', named(group)])])
  return stdout
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([group, topic]) => group?.startsWith(named('')) && topic?.startsWith(named('')))
    .map(([group = '', topic = '', partition, committed, end, lag]) => ({
      group: plain(group),
      topic: plain(topic),
      partition: Number(partition),
      committed: numberOf(committed),
      end: Number(end),
      lag: numberOf(lag),
    }))
}

/** As an operator resets an empty group to the start of a topic. */
export async function resetToStart(
  { named }: Pick<Connection, 'named'>,
  { group, topic }: { group: string; topic: string },
): Promise<void> {
  const at = ['--group', named(group), '--topic', named(topic)]
  await runTool(['--reset-offsets', '--to-offset', '0', '--execute', ...at])
}

async function runTool(options: readonly string[]): Promise<string> {
  const cache = await cacheFolder(process.env)
  const jars = await kafkaJars(cache, () => undefined)
  const tools = await toolsJar(cache, jars)
  const { program } = await findJava(process.env)
  const { stdout } = await promisify(execFile)(program, [
    ...['-XX:TieredStopAtLevel=1', '-cp', `${jars}/*:${tools}`, TOOL],
    ...['--bootstrap-server', inject('kafkaBrokers'), ...options],
  ])
  return stdout
}

const numberOf = (text: string | undefined) => (text === undefined || text === '-' ? null : Number(text))
