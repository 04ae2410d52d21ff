import { setTimeout as sleep } from 'node:timers/promises'
import { HTTPError } from 'got'
import { post } from '../../harness/fleet.ts'
import { until } from '../../harness/until.ts'
import { destination } from '../destinations.ts'
import { say } from '../program.ts'
import type { Replacement } from './plan.ts'
import { endpointOf, type System } from './system.ts'

export const WRITE_KEY = 'upgrade-write-key'
/** Ids of probes begin with this. They go only to destinations made for them. */
export const PROBE = 'probe-'
/** Enough users for all partitions: both versions have some. */
const PROBES = 48
/** Processes apply a change within a second. */
const APPLIED_MS = 2_000

type Control = ReturnType<System['api']>
const urlOf = ({ endpoints }: System, index: number) => endpoints[index]?.url ?? ''

const RULES = {
  filter: { not: { path: 'event', eq: 'Nothing' } },
  redact: [
    { path: 'userId', as: 'hash' },
    { path: 'properties.text', as: 'drop' },
  ],
}

/** @returns the destinations that get every call, and whether one has rules */
export async function makeSettings(system: System): Promise<{ steady: string[]; hasRules: boolean }> {
  const api = system.api(0)
  await until(async () => api('POST', 'sources', { id: 'shop', name: 'Shop', writeKey: WRITE_KEY }), {
    timeout: 60_000, // a new broker creates its internal topics first
    message: 'the source is made',
  })
  const steady = ['healthy', 'failing', 'busy', 'strict', 'moving'] as const
  for (const id of steady) {
    const json = destination(id, [urlOf(system, endpointOf(id))])
    await api('POST', 'destinations', { ...json, ...(id === 'busy' && { retryOn: [429] }) })
  }
  const ruled = { ...destination('ruled', [urlOf(system, endpointOf('ruled'))]), rules: RULES }
  const hasRules = await api('POST', 'destinations', ruled).then(() => true, withoutRules)
  await sleep(APPLIED_MS)
  return { steady: hasRules ? [...steady, 'ruled'] : [...steady], hasRules }
}

function withoutRules(error: unknown): boolean {
  if (!(error instanceof HTTPError) || error.response.statusCode !== 400) throw error
  say('the earlier version has no rules')
  return false
}

/**
 * While both versions run, moves a destination, and adds a source with a destination. Resolves when all processes
 * follow.
 * @returns how many calls the new source made
 */
export async function changeSettings(system: System, copy: Replacement['copy']): Promise<number> {
  const api = system.api(copy)
  await move(system, api)
  return add(system, api, `added-${copy}`)
}

async function move(system: System, api: Control): Promise<void> {
  const { items } = (await api('GET', 'destinations?limit=1000')) as {
    items: { id: string; version: number; webhooks: { url: string }[] }[]
  }
  const now = items.find(({ id }) => id === 'moving')
  if (!now) throw new Error('control does not know the destination moving')
  const home = endpointOf('moving')
  const from = now.webhooks[0]?.url === urlOf(system, home) ? home : home + 1
  const to = from === home ? home + 1 : home
  await api('PUT', 'destinations/moving', destination('moving', [urlOf(system, to)]), now.version)
  await sleep(APPLIED_MS)
  const left = () => system.posts.filter(({ endpoint }) => endpoint === from).length
  const hasMoved = async () => {
    const [before, all] = [left(), system.posts.length]
    await until(() => system.posts.length > all + 200)
    return left() === before
  }
  await until(hasMoved, { timeout: 60_000, message: 'all deliverers use the new URL' })
}

async function add(system: System, api: Control, id: 'added-0' | 'added-1'): Promise<number> {
  await api('POST', 'sources', { id, name: id, writeKey: `${id}-key` })
  const url = urlOf(system, endpointOf(id))
  await api('POST', 'destinations', { ...destination(id, [url]), sourceIds: [id] })
  await sleep(APPLIED_MS)
  const ids = Array.from({ length: PROBES }, (_, index) => `${PROBE}${id}-${index}`)
  const urls = system.urls('ingest')
  for (const [index, messageId] of ids.entries()) {
    const call = { writeKey: `${id}-key`, type: 'track', event: 'Probed', userId: messageId, messageId }
    const { status } = await post(`${urls[index % urls.length]}/v1/track`, { body: JSON.stringify(call) })
    if (status !== 200) throw new Error(`ingest ${index % urls.length} answers ${status} to the new source`)
  }
  const missing = () => new Set(ids).difference(new Set(system.posts.map(({ messageId }) => messageId)))
  const message = () => `${PROBES - missing().size} of ${PROBES} probes have arrived`
  await until(() => missing().size === 0, { message })
  return PROBES
}
