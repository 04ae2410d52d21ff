import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deliveredAt } from '../../harness/arrivals.ts'
import { DEAD } from '../../schemas/topics.ts'
import { readAll } from '../helpers/cluster.ts'
import { type Receiver, startReceiver } from '../helpers/receiver.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

const BACKLOG = 1_000
/** Milliseconds between calls after the backlog. */
const EVERY = 50
/** Such calls before the webhooks are back. */
const MEANWHILE = 60
const failures = { unavailable: 503, silent: 'hang' } as const
const names = ['unavailable', 'silent'] as const

type Name = (typeof names)[number]
type Endpoint = { receiver: Receiver; has: ReturnType<typeof deliveredAt> }
type Sent = { id: string; acceptedAt: number }

const endpoints = new Map<Name, Endpoint>()
let sluice: System
/** Accepted while all webhooks failed, and later. */
const backlog: Sent[] = []
const fresh: Sent[] = []

beforeAll(async () => {
  sluice = await startSystem({
    // shorter than the calls below take, but longer than a busy receiver pauses, or the breaker would open again
    RESPONSE_TIMEOUT: '2s',
    RETRY_LADDER: ['100ms,200ms,400ms,800ms', ...Array(60).fill('1600ms')].join(),
  })
  for (const name of names) {
    const receiver = await startReceiver()
    endpoints.set(name, { receiver, has: deliveredAt(receiver) })
    receiver.answerWith(failures[name])
    await sluice.destination(name, [`${receiver.url}/switch`])
  }
  await send(BACKLOG, backlog)
  for (let call = 0; call < MEANWHILE; call++) {
    await send(1, backlog)
    await sleep(EVERY)
  }
  for (const { receiver } of endpoints.values()) receiver.answerWith(200)
  await until(
    async () => {
      await send(1, fresh)
      await sleep(EVERY)
      return backlog.every(isDelivered)
    },
    { timeout: 60_000, message: 'the backlog is delivered' },
  )
  await until(() => fresh.every(isDelivered), { message: 'what came later is delivered' })
})

afterAll(async () => {
  await sluice?.close()
  await Promise.all([...endpoints.values()].map(({ receiver }) => receiver.close()))
})

let made = 0
async function send(count: number, to: Sent[]): Promise<void> {
  const ids = Array.from({ length: count }, () => String(made++))
  await sluice.send(ids.map((id) => ({ type: 'track', userId: `u${id}`, event: 'Paid', messageId: id })))
  const acceptedAt = Date.now()
  to.push(...ids.map((id) => ({ id, acceptedAt })))
}

const isDelivered = ({ id }: Sent) => [...endpoints.values()].every(({ has }) => has('/switch', id))

/**
 * From the webhook's first accepted call to the last of its backlog. @returns how long the backlog's calls took, and
 * those accepted meanwhile
 */
function recovery(name: Name) {
  const answered = (endpoints.get(name)?.receiver.arrivals ?? []).filter(({ status }) => status === 200)
  const deliveredAt = new Map(answered.map(({ headers, at }) => [headers['x-message-id'], at]))
  const took = ({ id, acceptedAt }: Sent) => (deliveredAt.get(id) ?? Number.POSITIVE_INFINITY) - acceptedAt
  const begin = Math.min(...deliveredAt.values())
  const end = Math.max(...backlog.map(({ id }) => deliveredAt.get(id) ?? Number.POSITIVE_INFINITY))
  const during = fresh.filter(({ acceptedAt }) => acceptedAt > begin && acceptedAt < end)
  return { backlogTook: backlog.map(took), cameTook: during.map(took) }
}

const share = (of: readonly number[], part: number) =>
  of.toSorted((a, b) => a - b)[Math.floor((of.length - 1) * part)] ?? Number.NaN

describe.each(names)('after a webhook that was %s recovers', (name) => {
  test('its backlog drains at least four times as fast as calls arrive', () => {
    const { backlogTook, cameTook } = recovery(name)
    expect(backlogTook.length).toBeGreaterThan(4 * cameTook.length)
  })

  test('fresh calls do not wait for it', () => {
    const { cameTook, backlogTook } = recovery(name)
    // medians: a machine may pause for a moment
    expect(share(cameTook, 0.5)).toBeLessThan(share(backlogTook, 0.5) / 4)
  })
})

test('no delivery is dead', async () => {
  expect(await readAll(sluice.connection, DEAD)).toEqual([])
})
