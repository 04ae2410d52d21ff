import type { Connection } from '../../kafka/client.ts'
import { openTable } from '../../kafka/tables/table.ts'
import { CONFIG } from '../../settings/settings.ts'

/** The content of a compacted topic on the broker, without removed keys. */
export async function rawTopic(connection: Connection, topic = CONFIG): Promise<Map<string, string>> {
  const fatal = Promise.withResolvers<never>()
  const table = await openTable({ connection, topic, onFatal: fatal.reject })
  await Promise.race([table.loaded, fatal.promise])
  const records = new Map([...table.entries()].map(([name, value]) => [name, value.toString()]))
  await table.close()
  return records
}

/** All topics under the connection's prefix, which only this test file uses. */
export async function removeTopics({ kafka, named }: Connection): Promise<void> {
  const admin = kafka.admin()
  await admin.connect()
  const topics = (await admin.listTopics()).filter((name) => name.startsWith(named('')))
  await admin.deleteTopics({ topics })
  await admin.disconnect()
}

/** All schemas registered under that prefix. */
export async function removeSubjects({ named }: Connection, registryUrl: string): Promise<void> {
  // the registry's API returns a list of names
  const subjects = (await (await fetch(`${registryUrl}/subjects`)).json()) as string[]
  for (const subject of subjects.filter((name) => name.startsWith(named(''))))
    await fetch(`${registryUrl}/subjects/${encodeURIComponent(subject)}`, { method: 'DELETE' })
}
