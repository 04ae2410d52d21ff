import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROLES } from '../../config.ts'
import { type OwnBroker, startOwnBroker } from '../helpers/broker.ts'
import { aReceiver, type Said, type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

const OUTAGE_MS = 20_000

let broker: OwnBroker
let sluice: System
const urgent = ({ level }: Said) => level === 'warn' || level === 'error' || level === 'fatal'
const texts = (lines: readonly Said[]) => lines.map(({ level, msg }) => `${level} ${msg}`)

beforeAll(async () => {
  broker = await startOwnBroker()
  sluice = await startSystem({ KAFKA_BROKERS: broker.now.brokers })
}, 120_000)
afterAll(async () => {
  await sluice?.close()
  await broker?.close()
})

describe('what the processes log', () => {
  test.each(ROLES)(
    'when %s starts for the first time, on a broker that has just been made, is no warning',
    (role) => {
      expect(sluice.said(role).filter(urgent)).toEqual([])
    },
  )

  test('while Kafka is away for 20 s is a line that it is away, and one that it is back', async () => {
    const receiver = await aReceiver()
    await sluice.destination('crm', [receiver.url])
    await sluice.send([{ type: 'track', userId: 'u', event: 'Before' }])
    await until(() => receiver.arrivals.length === 1)
    const before = new Map(ROLES.map((role) => [role, sluice.said(role).length]))
    const since = (role: (typeof ROLES)[number]) => sluice.said(role).slice(before.get(role))
    await broker.now.kill()
    await sleep(OUTAGE_MS)
    await broker.restart('kill')
    await sluice.send([{ type: 'track', userId: 'u', event: 'After' }])
    await until(() => receiver.arrivals.length === 2, { timeout: 60_000 })
    const isBack = (role: (typeof ROLES)[number]) =>
      since(role).some(({ msg }) => msg === 'Kafka can be reached again')
    await until(() => ROLES.every(isBack), { message: 'each process says that Kafka is back' })
    // what is still amiss then is said ten seconds later
    const lastAt = () => Math.max(...ROLES.flatMap((role) => since(role).map(({ time }) => Number(time))))
    await until(() => Date.now() - lastAt() > 12_000, { timeout: 60_000, message: 'nobody says anything' })
    for (const role of ROLES) {
      expect([role, texts(since(role))]).toEqual([
        role,
        ['warn Kafka cannot be reached', 'info Kafka can be reached again'],
      ])
    }
  }, 180_000)
})
