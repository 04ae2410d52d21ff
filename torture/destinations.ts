import { setTimeout as sleep } from 'node:timers/promises'
import { pair } from './account.ts'
import { type Endpoint, type Post, startHost } from './endpoints.ts'
import { ALARM, NOTICES, type Webhook, webhooksOf } from './notices.ts'
import type { Fault } from './plan.ts'
import type { Sluice } from './sluice.ts'

export const WRITE_KEY = 'torture-write-key'

/** Destinations that always exist and get all events, with the numbers of their endpoints. */
export const STEADY = {
  calm: [0],
  one: [1],
  other: [2],
  pair: [3, 4],
  never: [5],
  neighbour: [9],
  bad: [10],
  worse: [11],
} as const
const USERS = '0'
/** Gets the events of every tenth user, without their ids. */
export const CHOOSY = {
  destinationId: 'choosy',
  wants: (messageId: string) => userOf(messageId).endsWith(USERS),
} as const
const RULES = {
  filter: { path: 'userId', endsWith: USERS },
  redact: [{ path: 'userId', as: 'hash' }],
}
/** The destination whose settings change. Events need not reach it while it is off or missing. */
const CHANGING = 'changing'
const MOVING = [6, 7] as const
/** These share one host, with different paths. */
const TOGETHER: readonly number[] = [9, 10, 11]
/** Endpoints that faults strike. */
export const COUNT = 12
/** Endpoints that always or never answer. */
export const FIXED = { calm: 0, never: 5, neighbour: 9 } as const
/** It always answers, too. */
const OF_ALARM = COUNT

/** With the numbers of their endpoints. */
const PERMANENT: readonly (readonly [string, readonly number[]])[] = [
  ...Object.entries(STEADY),
  [CHOOSY.destinationId, [8]],
  [ALARM, [OF_ALARM]],
]
export const PERMANENT_IDS = PERMANENT.map(([id]) => id)
const DESTINATIONS = [...PERMANENT, [CHANGING, MOVING] as const]

/** The fleet's ids are `<user>.<number>`. */
const userOf = (messageId: string): string => messageId.slice(0, messageId.lastIndexOf('.'))

/** @param unredacted gets `destinationId messageId` of bodies that show the id of a user whom the rules hide. */
export async function startEndpoints(
  closing: AsyncDisposableStack,
  unredacted: Set<string>,
): Promise<Endpoint[]> {
  const endpoints: Endpoint[] = []
  const destinationOf = (index: number) => DESTINATIONS.find(([, its]) => its.includes(index))?.[0] ?? ''
  const onPost = (post: Post) => {
    if (
      post.destinationId === CHOOSY.destinationId &&
      JSON.parse(post.body).userId === userOf(post.messageId)
    )
      unredacted.add(pair(post))
  }
  const alone = Array.from({ length: COUNT - TOGETHER.length }, (_, index) => [index])
  for (const its of [...alone, TOGETHER, [OF_ALARM]]) {
    const host = closing.adopt(await startHost(its.map(destinationOf), onPost), (it) => it.close())
    endpoints.push(...host.endpoints)
  }
  await endpoints[FIXED.never]?.behave('failing')
  return endpoints
}

const urlsOf = (endpoints: readonly Endpoint[], its: readonly number[]): string[] =>
  its.map((index) => endpoints[index]?.url ?? '')

/** Of the permanent destinations. */
export const permanentWebhooks = (endpoints: readonly Endpoint[]): Webhook[] =>
  PERMANENT.flatMap(([id, its]) => webhooksOf(id, urlsOf(endpoints, its)))

/** Processes apply a change within a second. */
const APPLIED_MS = 2_000

/** Resolves when the processes use them. */
export async function makeSettings(sluice: Sluice, endpoints: readonly Endpoint[]): Promise<void> {
  await sluice.ready()
  await sluice.api('POST', 'sources', { id: 'shop', name: 'Shop', writeKey: WRITE_KEY })
  await sluice.api('POST', 'sources', { id: NOTICES, name: 'Notices', kind: 'notices' })
  for (const [id, its] of DESTINATIONS) {
    const urls = urlsOf(endpoints, its)
    const json = destination(id, id === CHANGING ? urls.slice(0, 1) : urls)
    const rules = id === CHOOSY.destinationId && { rules: RULES }
    const sources = id === ALARM && { sourceIds: [NOTICES] }
    await sluice.api('POST', 'destinations', { ...json, ...rules, ...sources })
  }
  await sleep(APPLIED_MS)
}

/** Resolves when control writes no more notices. */
export async function endNotices({ api }: Pick<Sluice, 'api'>): Promise<void> {
  const { version, ...source } = (await api('GET', `sources/${NOTICES}`)) as { version: number }
  await api('PUT', `sources/${NOTICES}`, { ...source, enabled: false }, version)
  await sleep(APPLIED_MS)
}

type Change = Extract<Fault, { kind: 'settings' }>['change']
/** As in control's API. */
type Current = { id: string; version: number; webhooks: { url: string }[] }

/** Skips what control refuses. Without the destination, every change creates it. */
export async function change(
  sluice: Pick<Sluice, 'api'>,
  what: Change,
  endpoints: readonly Endpoint[],
): Promise<void> {
  const urls = urlsOf(endpoints, MOVING)
  try {
    const { items } = (await sluice.api('GET', 'destinations?limit=1000')) as { items: Current[] }
    const now = items.find(({ id }) => id === CHANGING)
    if (!now) return void (await sluice.api('POST', 'destinations', destination(CHANGING, [urls[0] ?? ''])))
    if (what === 'remove') return void (await sluice.api('DELETE', `destinations/${CHANGING}`))
    const at = now.webhooks[0]?.url
    const url = what === 'move' ? (urls.find((other) => other !== at) ?? '') : (at ?? '')
    const json = { ...destination(CHANGING, [url]), enabled: what !== 'off', paused: what === 'pause' }
    await sluice.api('PUT', `destinations/${CHANGING}`, json, now.version)
  } catch (error) {
    process.stderr.write(`    settings: ${error instanceof Error ? error.message : error}\n`)
  }
}

export const destination = (id: string, urls: readonly string[]) => ({
  id,
  name: id,
  sourceIds: ['shop'],
  sharedSecret: 'torture-secret',
  enabled: true,
  webhooks: urls.map((url) => ({ url })),
})
