import { setTimeout as sleep } from 'node:timers/promises'
import { post } from '../../harness/fleet.ts'
import type { Launch } from '../../harness/launch.ts'
import type { Call, OpenLoad } from '../../harness/open-load.ts'
import { until } from '../../harness/until.ts'
import { pair } from '../account.ts'
import { say } from '../program.ts'
import { handedOver, type Passed } from './findings.ts'
import { mixedDeliverers, type Replaced, type Replacement, type Roll } from './plan.ts'
import { changeSettings, WRITE_KEY } from './settings.ts'
import { endpointOf, type System } from './system.ts'

/** `to`: the version that takes over. `by` starts it. */
export type Target = { roll: Roll; to: string; by: Launch }
export type Running = { system: System; load: Pick<OpenLoad, 'calls'> }

/** At least so many retries and dead letters of one version wait for the other. */
const ENOUGH = 200
const RESENT = 100
/** How long both versions run side by side, beyond the checks of that time. */
const SIDE_BY_SIDE_MS = 5_000
/** Longer than the last rung. */
const RETRIED_MS = 150_000
const REPLAYED_MS = 120_000

/**
 * Replaces all processes one after the other under load. Before, one version makes retries and dead letters. Afterwards
 * the other delivers the retries, replays the dead letters, and gets some calls again.
 */
export async function pass(
  running: Running,
  target: Target,
): Promise<Passed & { replaced: readonly Replaced[] }> {
  const { system, load } = running
  const dead = await makeTrouble(system)
  const before = load.calls.filter(({ acceptedAt }) => acceptedAt !== undefined).slice(-RESENT)
  const { probes, replaced } = await replaceAll(system, target)
  const mixed = mixedDeliverers(replaced)
  for (const id of ['failing', 'busy'] as const) await system.endpoints[endpointOf(id)]?.behave('answers')

  say(`only ${target.to} runs: it delivers what is on rungs`)
  const busy = () => system.posts.filter(({ destinationId }) => destinationId === 'busy')
  await orSay(
    async () => handedOver(busy(), mixed).length >= ENOUGH,
    RETRIED_MS,
    'few retries were handed over',
  )
  await replay(system, target, dead)
  const resentAt = performance.now()
  for (const call of before) await resend(system, call)
  system.check()
  return {
    ...{ mixed, replaced, probes, resentAt },
    replayed: dead.keys,
    resent: new Set(before.map(({ messageId }) => messageId)),
  }
}

type Dead = { from: Date; keys: ReadonlySet<string> }

/** Makes webhooks fail until there are enough retries and dead letters. @returns the dead letters */
async function makeTrouble({ endpoints, posts }: System): Promise<Dead> {
  const from = new Date()
  const since = posts.length
  await endpoints[endpointOf('failing')]?.behave('failing')
  await endpoints[endpointOf('busy')]?.behave('later')
  await endpoints[endpointOf('strict')]?.behave('rejected')
  const answered = (status: number) => posts.slice(since).filter((each) => each.status === status)
  await until(() => [429, 404].every((status) => answered(status).length >= ENOUGH), { timeout: 120_000 })
  await endpoints[endpointOf('strict')]?.behave('answers')
  await sleep(1_000) // for rejections under way
  return { from, keys: new Set(answered(404).map(pair)) }
}

async function replaceAll(system: System, { roll, to, by }: Target) {
  const replaced: Replaced[] = []
  const replace = async (those: readonly Replacement[]) => {
    for (const what of those) {
      say(`${what.role} ${what.copy}: ${to}`)
      replaced.push(await system.replace(what, by))
    }
    system.check()
  }
  await replace(roll.first)
  say('both versions run side by side; settings change through the control that was replaced')
  const [{ copy } = { copy: 0 as const }] = roll.first.filter(({ role }) => role === 'control')
  const probes = await changeSettings(system, copy)
  await sleep(SIDE_BY_SIDE_MS)
  await replace(roll.second)
  return { probes, replaced }
}

/** Replays dead letters through a control of the version that took over. */
async function replay(system: System, { to }: Target, { from, keys }: Dead): Promise<void> {
  say(`${to} replays ${keys.size} dead letters`)
  const api = system.api(0)
  const json = { destinationId: 'strict', what: 'dead', from: from.toISOString() }
  const { id } = (await api('POST', 'replays', json)) as { id: string }
  const isDone = async () => ((await api('GET', `replays/${id}`)) as { state: string }).state === 'done'
  await until(isDone, { timeout: REPLAYED_MS, message: 'the replay is done' })
  const delivered = () => new Set(system.posts.filter(({ status }) => status === 200).map(pair))
  const isDelivered = async () => {
    const those = delivered()
    return [...keys].every((key) => those.has(key))
  }
  await orSay(isDelivered, REPLAYED_MS, 'some replayed deliveries are missing')
}

/** What is missing is in the report. */
const orSay = (condition: () => Promise<boolean>, timeout: number, what: string): Promise<unknown> =>
  until(condition, { timeout }).catch(() => say(what))

async function resend(system: System, { messageId, userId }: Call): Promise<void> {
  const body = JSON.stringify({ writeKey: WRITE_KEY, type: 'track', event: 'Ordered', userId, messageId })
  const { status } = await post(`${system.urls('ingest')[0]}/v1/track`, { body })
  if (status !== 200) throw new Error(`ingest answers ${status} to a repeated call`)
}
