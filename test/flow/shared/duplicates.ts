import { fileURLToPath } from 'node:url'
import got from 'got'
import { expect, onTestFinished, test } from 'vitest'
import { NODE_FLAGS } from '../../../harness/launch.ts'
import { freePort } from '../../../local/ports.ts'
import { spawnChild } from '../../../local/processes/child-process.ts'
import { readDeliveries } from '../../helpers/decoded.ts'
import { planted } from '../../helpers/planted.ts'
import type { Receiver } from '../../helpers/receiver.ts'
import { aReceiver } from '../../helpers/system.ts'
import { until } from '../../helpers/until.ts'
import { sluice } from './system.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

const users = Array.from({ length: 40 }, (_, index) => `u${index}`)
const track = (messageId: string, userId = 'u1') => ({ type: 'track', userId, event: 'Paid', messageId })
const ids = ({ arrivals }: Receiver) => arrivals.map(({ headers }) => String(headers['x-message-id']))

/** Its receiver gets all events. */
async function shop(id: string, settings: object = {}) {
  const receiver = await aReceiver()
  await sluice.api('post', 'sources', { id, name: id, writeKey: `${id}-write-key`, ...settings })
  await sluice.destination(id, [`${receiver.url}/`], { sourceIds: [id] })
  const send = (calls: object[]) => sluice.send(calls, `${id}-write-key`)
  let lasts = 0
  return {
    receiver,
    send,
    /**
     * Sends each user a last event: when these arrive, the earlier events are routed or dropped. They may arrive later.
     */
    async settled(of: string[]): Promise<string[]> {
      const last = `last-${++lasts}`
      await send(of.map((userId) => track(`${last}-${userId}`, userId)))
      await until(() => ids(receiver).filter((one) => one.startsWith(`${last}-`)).length === of.length)
      const routed = (await readDeliveries(sluice)).filter(({ destinationId }) => destinationId === id)
      await until(() => ids(receiver).length >= routed.length)
      return ids(receiver)
        .filter((one) => !one.startsWith('last-'))
        .toSorted()
    },
  }
}

async function metric(name: string): Promise<number> {
  const text = await got(`http://127.0.0.1:${sluice.env.ROUTER_PORT}/metrics`).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}

async function committed(): Promise<boolean> {
  const { kafka, named } = sluice.connection
  const admin = kafka.admin()
  await admin.connect()
  const ends = await admin.fetchTopicOffsets(named('events'))
  const [group] = await admin.fetchOffsets({ groupId: named('router'), topics: [named('events')] })
  await admin.disconnect()
  const at = new Map(
    group?.partitions.map(({ partition, offset }) => [partition, Math.max(0, Number(offset))]),
  )
  return ends.every(({ partition, high }) => at.get(partition) === Number(high))
}

/** The output of second routers. */
const printed: string[] = []
/** Routing waits two seconds for earlier ids. After that, duplicates may pass, and the log says so. */
const timesLate = () =>
  [...sluice.logged('router').map(({ msg }) => msg), ...printed].filter((text) =>
    text.includes('routing starts before earlier ids are loaded'),
  ).length
const MAX_ROUNDS = 5

/** Repeats a test that fails because a router was late on a busy machine. @param test gets an id for its source */
async function unlessLate(id: string, test: (id: string) => Promise<void>): Promise<void> {
  for (let round = 1; ; round++) {
    const before = timesLate()
    try {
      return await test(`${id}-${round}`)
    } catch (error) {
      if (timesLate() === before || round === MAX_ROUNDS) throw error
    }
  }
}

test('a call that a client sends again arrives once, in the same batch or later', async () => {
  const { send, settled } = await shop('again')
  const before = await metric('sluice_router_duplicates_total')
  await send([track('a'), track('a'), track('b')])
  await send([track('b'), track('a')])
  expect(await settled(['u1'])).toEqual(['a', 'b'])
  // metrics may be a quarter of a second old
  await until(async () => (await metric('sluice_router_duplicates_total')) >= before + 3)
  expect(await metric('sluice_router_duplicates_total')).toBe(before + 3)
  expect(await metric('sluice_router_ids')).toBeGreaterThanOrEqual(3)
})

test('the same id from another user or source is a different event', async () => {
  const one = await shop('one')
  const other = await shop('other')
  // more users than partitions: some share one
  await one.send(users.map((userId) => track('same', userId)))
  await other.send(users.map((userId) => track('same', userId)))
  expect(await one.settled(users)).toHaveLength(users.length)
  expect(await other.settled(users)).toHaveLength(users.length)
})

test.each(['stop', 'kill'] as const)('an id is known after a %s of the router', (how) =>
  unlessLate(how, async (id) => {
    const { send, settled } = await shop(id)
    await send(users.map((userId) => track('before', userId)))
    await settled(users)
    await until(committed)
    await sluice[how]('router')
    await send(users.map((userId) => track('before', userId)))
    await sluice.start('router')
    expect(await settled(users)).toHaveLength(users.length)
  }),
)

test('a second router that takes over partitions knows their ids, and so does the first when it gets them back', () =>
  unlessLate('shared', async (id) => {
    const { send, settled } = await shop(id)
    const again = users.map((userId) => track('once', userId))
    const meanwhile = users.map((userId) => track('meanwhile', userId))
    await send(again)
    await settled(users)
    const second = await aSecondRouter()
    try {
      await send(again)
      expect(await settled(users)).toHaveLength(users.length)
      await send(meanwhile)
      await settled(users)
    } finally {
      await second.stop()
    }
    await send([...again, ...meanwhile])
    expect(await settled(users)).toHaveLength(2 * users.length)
  }))

/** Resolves when it owns partitions. */
async function aSecondRouter() {
  const port = await freePort('127.0.0.1', [])
  const child = spawnChild(process.execPath, {
    args: [...NODE_FLAGS, 'router/main.ts'],
    cwd: root,
    env: { PATH: process.env.PATH, ...sluice.env, ROUTER_PORT: String(port) },
    onLine(line) {
      printed.push(line)
      planted.heard(line)
    },
  })
  onTestFinished(async () => void (await child.kill()))
  const metrics = () => got(`http://127.0.0.1:${port}/metrics`, { retry: { limit: 0 } }).text()
  // two partitions, or more if the group changes again
  const opened = async () =>
    [...(await metrics()).matchAll(/^sluice_router_windows_total\{outcome="\w+"\} (\d+)$/gm)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    )
  await until(async () => (await opened()) >= 2)
  return child
}

test('a source that keeps duplicates gets all of its calls forwarded', async () => {
  const { send, settled } = await shop('keeps', { dedup: 'off' })
  await send([track('twice'), track('once')])
  await send([track('twice')])
  expect(await settled(['u1'])).toEqual(['once', 'twice', 'twice'])
})
