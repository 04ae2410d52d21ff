import type { components } from '../api/client/schema.ts'

type Code = components['schemas']['SystemProblem']['code']

const TITLES: Record<Code, string> = {
  kafka_unreachable: 'Kafka is not responding',
  settings_outdated: 'Settings may be out of date',
  topic_missing: 'A topic does not exist',
  group_stopped: 'Work waits because no process responds',
  group_stalled: 'Work waits because a process makes no progress',
  group_rewound: 'Events are processed again',
  storage_full: 'Calls are rejected because storage is almost full',
  storage_low: 'Storage is running low',
  setting_unreadable: 'A setting cannot be read',
  records_lost: 'Kafka has lost records',
}

/** A newer control may have more codes. */
export const problemTitle = (code: string): string => (TITLES as Record<string, string>)[code] ?? code

const PAGES: Record<string, [list: string, one: string]> = {
  lag: ['Show lag', 'Show lag'],
  sources: ['Show sources', 'Show the source'],
  destinations: ['Show destinations', 'Show the destination'],
  audiences: ['Show audiences', 'Show audiences'],
  traits: ['Show traits', 'Show traits'],
}

export function pageLabel(page: string): string {
  const [, view = '', id] = page.split('/')
  const [list, one] = PAGES[view] ?? ['Show more', 'Show more']
  return id === undefined ? list : one
}
