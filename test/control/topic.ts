import type { Connection } from '../../kafka/client.ts'
import { openTable } from '../../kafka/tables/table.ts'
import { CONFIG } from '../../settings/settings.ts'

/** The content of a compacted topic, without removed keys. */
export async function rawTopic(connection: Connection, topic = CONFIG): Promise<Map<string, string>> {
  const fatal = Promise.withResolvers<never>()
  const table = await openTable({ connection, topic, onFatal: fatal.reject })
  await Promise.race([table.loaded, fatal.promise])
  const records = new Map([...table.entries()].map(([name, value]) => [name, value.toString()]))
  await table.close()
  return records
}

/** Only this test file uses the prefix. */
export async function removeTopics({ kafka, named }: Connection): Promise<void> {
  const admin = kafka.admin()
  await admin.connect()
  const topics = (await admin.listTopics()).filter((name) => name.startsWith(named('')))
  await admin.deleteTopics({ topics })
  await admin.disconnect()
}

export async function removeSubjects({ named }: Connection, registryUrl: string): Promise<void> {
  // a list of names
  const subjects = (await (await fetch(`${registryUrl}/subjects`)).json()) as string[]
  for (const subject of subjects.filter((name) => name.startsWith(named(''))))
    await fetch(`${registryUrl}/subjects/${encodeURIComponent(subject)}`, { method: 'DELETE' })
}
