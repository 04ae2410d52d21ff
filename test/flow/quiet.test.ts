import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROLES, type Role } from '../../settings/config-key.ts'
import { type OwnBroker, startOwnBroker } from '../helpers/broker.ts'
import { type Receiver, startReceiver } from '../helpers/receiver.ts'
import { type LogLine, type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

const OUTAGE_MS = 20_000

let broker: OwnBroker
let sluice: System
let receiver: Receiver
const urgent = ({ level }: LogLine) => level === 'warn' || level === 'error' || level === 'fatal'
/** On a busy machine, the router may need over 2 s to load ids. */
const isLate = ({ msg }: LogLine) => msg.startsWith('routing starts before earlier ids are loaded')
const texts = (lines: readonly LogLine[]) => lines.map(({ level, msg }) => `${level} ${msg}`)

beforeAll(async () => {
  broker = await startOwnBroker()
  receiver = await startReceiver()
  sluice = await startSystem({ KAFKA_BROKERS: broker.now.brokers })
  await sluice.destination('crm', [receiver.url])
})
afterAll(async () => {
  await sluice?.close()
  await Promise.all([broker?.close(), receiver?.close()])
})

describe('the log of the processes', () => {
  test.each(ROLES)('has no warning when %s starts for the first time, on a new broker', (role) => {
    // all tests share the registry: on a busy machine it may answer late
    const isOfRegistry = ({ msg }: LogLine) => msg.startsWith('the schema registry cannot be reached')
    const isOfBusy = (line: LogLine) => isOfRegistry(line) || isLate(line)
    expect(sluice.logged(role).filter((line) => urgent(line) && !isOfBusy(line))).toEqual([])
  })

  test.each<[string, () => Promise<void>]>([
    [
      'away',
      async () => {
        await broker.now.kill()
        await sleep(OUTAGE_MS)
        await broker.restart('kill')
      },
    ],
    [
      'silent',
      async () => {
        process.kill(broker.now.pid, 'SIGSTOP')
        await sleep(OUTAGE_MS)
        process.kill(broker.now.pid, 'SIGCONT')
      },
    ],
  ])(
    'while Kafka is %s for 20 s is a line that it cannot be reached, and one that it can again',
    async (name, strike) => {
      const arrives = async (messageId: string) => {
        await sluice.send([{ type: 'track', userId: 'u', event: 'E', messageId }])
        const isHere = () => receiver.arrivals.some(({ headers }) => headers['x-message-id'] === messageId)
        await until(isHere, { message: `${messageId} arrives` })
      }
      const struck = async (round: number) => {
        await arrives(`before-${name}-${round}`)
        const before = new Map(ROLES.map((role) => [role, sluice.logged(role).length]))
        const since = (role: Role) => sluice.logged(role).slice(before.get(role))
        await strike()
        await arrives(`after-${name}-${round}`)
        const isBack = (role: Role) => since(role).some(({ msg }) => msg === 'Kafka can be reached again')
        await until(() => ROLES.every(isBack), { message: 'each process says that Kafka is back' })
        // trouble that remains is logged ten seconds later
        const lastAt = () => Math.max(...ROLES.flatMap((role) => since(role).map(({ time }) => Number(time))))
        await until(() => Date.now() - lastAt() > 16_000, { message: 'no process logs anything for 16 s' })
        return since
      }
      let since = await struck(1)
      for (let round = 2; round <= 3 && since('router').some(isLate); round++) since = await struck(round)
      for (const role of ROLES)
        expect([role, ...texts(since(role))]).toEqual([
          role,
          'warn Kafka cannot be reached',
          'info Kafka can be reached again',
        ])
    },
    600_000,
  )

  test('has one line while a topic is missing, however often Kafka says so', async () => {
    const before = new Map(ROLES.map((role) => [role, sluice.logged(role).length]))
    const since = (role: Role) => sluice.logged(role).slice(before.get(role))
    const admin = sluice.connection.kafka.admin()
    await admin.connect()
    await admin.deleteTopics({ topics: [sluice.connection.named('events')] })
    await admin.disconnect()
    const line = 'warn Kafka lacks a topic that this process uses'
    await until(() => (['router', 'control'] as const).every((role) => texts(since(role)).includes(line)), {
      message: 'both say that a topic is missing',
    })
    expect(texts(since('router').filter(urgent))).toEqual([line])
  })
})
