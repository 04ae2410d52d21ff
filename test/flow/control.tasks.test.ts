import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { taskRecord } from '../../control/tasks/task-table.ts'
import { MAX_COUNT } from '../../control/tasks/worker.ts'
import { createProducer, type Producer } from '../../kafka/produce/produce.ts'
import { taskCodec } from '../../schemas/task.ts'
import { TASKS } from '../../schemas/topics.ts'
import { aReplay, aSync } from '../control/tasks-in-memory.ts'
import { rawTopic } from '../control/topic.ts'
import { type Receiver, startReceiver } from '../helpers/receiver.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

/** A replay of one a second lasts longer than its test, even on a busy machine. */
const CALLS = 400
/** More than a commit's metadata can mark beyond an unsettled record. */
const NOTES = 12_500

let sluice: System
let receiver: Receiver
let producer: Producer
beforeAll(async () => {
  receiver = await startReceiver()
  sluice = await startSystem()
  producer = await createProducer(sluice.connection)
  await sluice.destination('crm', [`${receiver.url}/crm`])
  const event = { type: 'track', event: 'Paid' }
  await sluice.send(
    Array.from({ length: CALLS }, (_, call) => ({ ...event, userId: `u${call}`, messageId: `m${call}` })),
  )
})
afterAll(async () => {
  await producer?.close()
  await sluice?.close()
  await receiver?.close()
})

const metrics = async () => (await fetch(`${sluice.control}/metrics`)).text()
const read = async (path: string) => (await sluice.api('get', path)).body
const replayOf = (id: string) => read(`replays/${id}`)

async function replay(body: object): Promise<string> {
  const answer = await sluice.api('post', 'replays', { destinationId: 'crm', what: 'events', ...body })
  expect(answer.status).toBe(202)
  return String(answer.body.id)
}

test('a replay that takes hours delays neither deletions nor their lag', async () => {
  const id = await replay({ perSecond: 1 })
  const key = `replay/${id}`
  const note = await until(async () => (await rawTopic(sluice.connection, TASKS)).get(key))
  const notes = Array.from({ length: NOTES }, () => ({ topic: TASKS, key, value: note }))
  expect(await producer.produce(notes)).toBe('acked')
  const { body: deletion } = await sluice.api('post', 'deletions', { userIds: ['gone'] })
  await until(async () => (await read(`deletions/${deletion.id}`)).state === 'done')
  expect(await replayOf(id)).toMatchObject({ state: 'running' })
  const lag = await until(async () => {
    const answer = (await read('lag?group=control.tasks')) as { items: { lag: number }[] }
    return answer.items.every(({ lag: offsets }) => offsets < 10) && answer
  })
  expect(lag).toMatchObject({ items: [{ status: 'ok' }], tasks: [{ count: 0 }, { count: 0 }, { count: 1 }] })
  expect(await metrics()).toContain('sluice_control_tasks{kind="replay"} 1\n')
  await sluice.api('delete', `replays/${id}`)
  await until(async () => (await metrics()).includes('sluice_control_tasks{kind="replay"} 0\n'))
})

test('when any process is killed, another one continues its tasks', async () => {
  const other = await sluice.another('control')
  const id = await replay({ perSecond: 1 })
  const progress = async () => Number((await replayOf(id)).read)
  const goesOn = async () => {
    const before = await progress()
    await until(async () => (await progress()) > before)
  }
  await goesOn()
  await sluice.crash('control')
  await sluice.start('control')
  await goesOn()
  await other.crash()
  await goesOn()
  expect(await replayOf(id)).toMatchObject({ state: 'running' })
  await sluice.api('delete', `replays/${id}`)
}, 360_000)

test('a replay of records that the topic no longer has fails with the reason', async () => {
  const ranges = [{ partition: 0, from: 0, to: 1_000_000 }]
  const lost = aReplay({ id: 'lost', what: 'events', createdAt: new Date().toISOString(), ranges })
  expect(await producer.produce([taskRecord(lost)])).toBe('acked')
  const ended = await until(async () => {
    const body = await read('replays/lost')
    return body.finishedAt !== undefined && body
  })
  expect(ended).toMatchObject({ state: 'failed', cause: { code: 'records_gone' } })
  await until(async () =>
    (await metrics()).includes('sluice_control_tasks_ended_total{kind="replay",state="failed"} 1\n'),
  )
})

test('only the newest ten thousand finished tasks of each kind are kept', async () => {
  const first = Date.now()
  const syncs = Array.from({ length: MAX_COUNT + 700 }, (_, each) => {
    const at = new Date(first + each).toISOString()
    return aSync({ id: `${each}-${randomUUID()}`, state: 'done', createdAt: at, finishedAt: at })
  })
  expect(await producer.produce(syncs.map(taskRecord))).toBe('acked')
  await sluice.stop('control')
  await sluice.start('control')
  const kept = async () => {
    const values = [...(await rawTopic(sluice.connection, TASKS)).values()]
    return values.flatMap((value) => {
      const task = taskCodec.decode(Buffer.from(value))
      return 'ok' in task && task.ok && task.value.kind === 'sync' ? [task.value.id] : []
    })
  }
  await until(async () => (await kept()).length === MAX_COUNT)
  expect(new Set(await kept())).toEqual(new Set(syncs.slice(-MAX_COUNT).map(({ id }) => id)))
  const { status } = await sluice.api('get', `syncs/${syncs[0]?.id}`)
  expect([status, (await read('syncs?limit=1')).items]).toMatchObject([404, [{ id: syncs.at(-1)?.id }]])
})

test('a task under the key of another is skipped: it would start again and again', async () => {
  const task = aReplay({ id: 'r1', state: 'accepted' })
  const key = 'replay/another'
  expect(await producer.produce([{ topic: TASKS, key, value: taskCodec.encode(task) }])).toBe('acked')
  await until(() => sluice.logged('control').some((line) => line.key === key))
  expect((await sluice.api('get', 'replays/r1')).status).toBe(404)
  expect(await metrics()).toContain('sluice_control_tasks{kind="replay"} 0\n')
})
