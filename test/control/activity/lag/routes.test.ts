import { describe, expect, test } from 'vitest'
import type { Report } from '../../../../control/activity/lag/follow.ts'
import { watchLag } from '../../../../control/activity/lag/metrics.ts'
import type { LagItem } from '../../../../control/activity/lag/status.ts'
import { api, VIEW } from '../../api.ts'
import { aLagItem, lagHeld } from '../../lag-in-memory.ts'
import { aDeletion, tasksInMemory } from '../../tasks-in-memory.ts'

const ask = (held: ReturnType<typeof lagHeld>, query = '', token?: string) =>
  api({}, held).ask({ url: `/api/lag${query}`, ...(token && { token }) })

const items = [
  aLagItem(),
  aLagItem({ partition: 1, lagSeconds: null }),
  aLagItem({ group: 'deliverer', topic: 'deliveries', status: 'stop', committed: null }),
]

test('all partitions of all groups are reported, with the time of the observation', async () => {
  const { status, json } = await ask(lagHeld(items))
  expect([status, json]).toMatchObject([200, { items, at: '2026-01-02T03:04:05.678Z' }])
})

test('pending tasks are reported by kind, with the age of the oldest, regardless of the query', async () => {
  const { tasks, known } = tasksInMemory()
  known.apply('deletion/d1', aDeletion({ createdAt: new Date(Date.now() - 90_000).toISOString() }))
  known.apply('deletion/d2', aDeletion({ id: 'd2', createdAt: new Date().toISOString() }))
  known.apply('deletion/d3', aDeletion({ id: 'd3', state: 'done' }))
  const { json } = await api({}, { ...lagHeld(items), tasks }).ask({ url: '/api/lag?group=nobody' })
  expect(json.tasks).toEqual([
    { kind: 'deletion', count: 2, oldestSeconds: expect.closeTo(90, -1) },
    { kind: 'sync', count: 0, oldestSeconds: 0 },
    { kind: 'replay', count: 0, oldestSeconds: 0 },
  ])
})

test('missing topics are reported, regardless of the query', async () => {
  const latest = () => ({ at: 0, items, ends: [], missing: ['deliveries.due'] })
  const { json } = await ask(lagHeld(items, { latest }), '?group=router')
  expect(json.missing).toEqual(['deliveries.due'])
})

test('a view token may read it', async () => {
  expect((await ask(lagHeld(), '', VIEW)).json.items).toEqual([])
})

test('names the groups that cannot read because their topic is missing', async () => {
  const missing = ['deliveries.due', 'events', 'attempts']
  const latest = () => ({ at: 0, items, ends: [], missing })
  const blocked = async (query: string) => (await ask(lagHeld(items, { latest }), query)).json.blocked
  expect(await blocked('')).toEqual([
    { group: 'router', topic: 'events' },
    { group: 'deliverer.due', topic: 'deliveries.due' },
  ])
  expect(await blocked('?group=router')).toEqual([{ group: 'router', topic: 'events' }])
})

describe('filters', () => {
  test.each([
    ['?group=router', ['router 0', 'router 1']],
    ['?topic=deliveries', ['deliverer 0']],
    ['?group=router&topic=events', ['router 0', 'router 1']],
    ['?group=router&topic=deliveries', []],
    ['?group=rout', []],
    ['?group=', []],
  ])('%s', async (query, expected) => {
    const { json } = await ask(lagHeld(items), query)
    expect(json.items.map(({ group, partition }: LagItem) => `${group} ${partition}`)).toEqual(expected)
  })
})

test.each([
  ['?partition=1', '/partition', 'unknown_field'],
  ['?group=a&group=b', '/group', 'invalid_type'],
])('asked for what cannot be: %s', async (query, pointer, code) => {
  const { status, json } = await ask(lagHeld(items), query)
  expect([status, json.code, json.errors]).toMatchObject([400, 'validation_failed', [{ pointer, code }]])
})

test('after a while without an answer from Kafka, no old state is reported', async () => {
  const { status, json, headers } = await ask(lagHeld(items, { latest: () => undefined }))
  expect([status, json.code, headers['retry-after']]).toEqual([503, 'unavailable', '5'])
})

test('a request before the first observation waits for it', async () => {
  const { promise: loaded, resolve } = Promise.withResolvers<void>()
  let isLoaded = false
  const answer = ask(lagHeld(items, { loaded, isLoaded: () => isLoaded }))
  setTimeout(() => {
    isLoaded = true
    resolve()
  }, 20)
  expect((await answer).status).toBe(200)
})

test('metrics have the names of public dashboards, and no series of removed partitions', async () => {
  type Shown = Pick<Report, 'items' | 'ends' | 'missing'>
  // the ranges of a replay do not tell where its topic ends
  const ends = [0, 1].map((partition) => ({ topic: 'events', partition, low: 5, end: 120 }))
  let shown: Shown | undefined = { items, ends, missing: ['deliveries.due'] }
  watchLag({ latest: () => shown && { at: 0, ...shown } })
  const server = api()
  const metrics = async () => {
    const { text } = await server.ask({ url: '/metrics' })
    return text
      .split('\n')
      .filter((line) => /^(kafka_(consumergroup|topic)|sluice_(control_lag|topic_missing))/.test(line))
  }
  const router = 'consumergroup="router",topic="events"'
  const deliverer = 'consumergroup="deliverer",topic="deliveries",partition="0"'
  expect(await metrics()).toEqual([
    `kafka_consumergroup_lag{${router},partition="0"} 10`,
    `kafka_consumergroup_lag{${router},partition="1"} 10`,
    `kafka_consumergroup_lag{${deliverer}} 10`,
    `kafka_consumergroup_lag_seconds{${router},partition="0"} 1.5`,
    `kafka_consumergroup_lag_seconds{${deliverer}} 1.5`,
    `kafka_consumergroup_current_offset{${router},partition="0"} 90`,
    `kafka_consumergroup_current_offset{${router},partition="1"} 90`,
    'kafka_topic_partition_current_offset{topic="events",partition="0"} 120',
    'kafka_topic_partition_current_offset{topic="events",partition="1"} 120',
    'kafka_topic_partition_oldest_offset{topic="events",partition="0"} 5',
    'kafka_topic_partition_oldest_offset{topic="events",partition="1"} 5',
    'kafka_topic_partitions{topic="events"} 2',
    `sluice_control_lag_status{${router},partition="0",status="ok"} 1`,
    `sluice_control_lag_status{${router},partition="1",status="ok"} 1`,
    `sluice_control_lag_status{${deliverer},status="stop"} 1`,
    'sluice_topic_missing{topic="deliveries.due"} 1',
  ])
  shown = { items: [aLagItem({ status: 'warn', lagSeconds: null, committed: null })], ends: [], missing: [] }
  expect(await metrics()).toEqual([
    `kafka_consumergroup_lag{${router},partition="0"} 10`,
    `sluice_control_lag_status{${router},partition="0",status="warn"} 1`,
  ])
  shown = undefined
  expect(await metrics()).toEqual([])
})
