import { describe, expect, test } from 'vitest'
import { sample } from '../../../control/settings/test-send.ts'
import { EVENT_TYPES } from '../../../settings/settings.ts'

const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const timestamp = '2026-01-02T03:04:05.678Z'
const of = (type: (typeof EVENT_TYPES)[number], uuid = 'f00d') =>
  sample(type, { destinationId: 'crm', uuid, now })
const bodyOf = (type: (typeof EVENT_TYPES)[number]) => JSON.parse(of(type).body)

describe('the sample of a type', () => {
  test.each([
    ['identify', ['version', 'type', 'userId', 'traits', 'timestamp', 'context']],
    ['track', ['version', 'type', 'userId', 'event', 'properties', 'timestamp', 'context']],
    ['page', ['version', 'type', 'userId', 'properties', 'timestamp', 'context']],
    ['screen', ['version', 'type', 'userId', 'name', 'timestamp', 'context']],
    ['group', ['version', 'type', 'groupId', 'userId', 'traits', 'timestamp', 'context']],
    ['alias', ['version', 'type', 'Previous ID', 'User ID', 'timestamp', 'context']],
    ['delete', ['type', 'userId', 'timestamp']],
  ] as const)('%s has the keys of its contract, in their order, all of them filled', (type, keys) => {
    const body = bodyOf(type)
    expect(Object.keys(body)).toEqual(keys)
    expect(body).toMatchObject({ type, timestamp })
    for (const value of Object.values(body)) expect(value).not.toEqual({})
  })

  test('screen has the context of a phone: device, system, app', () => {
    const text = expect.any(String)
    expect(bodyOf('screen').context).toEqual({
      device: { model: text, type: text },
      os: { name: text, version: text },
      app: { build: text, name: text, version: text },
    })
  })

  test('page tells the four things of a page', () => {
    expect(Object.keys(bodyOf('page').properties)).toEqual(['path', 'referrer', 'title', 'url'])
  })

  test.each(EVENT_TYPES)('%s is of nobody real, by its ids', (type) => {
    const names = ['userId', 'groupId', 'User ID', 'Previous ID']
    const ids = Object.entries(bodyOf(type)).filter(([name]) => names.includes(name))
    expect(ids).not.toEqual([])
    for (const [, id] of ids) expect(id).toMatch(/^test-/)
    expect(of(type).messageId).toBe('test-f00d')
  })

  test.each(EVENT_TYPES)('%s is exactly what JSON.stringify prints of it', (type) => {
    expect(JSON.stringify(bodyOf(type))).toBe(of(type).body)
  })

  test('has an id of its own, as a delivery has, so that no receiver takes it for one it knows', () => {
    const ids = [of('track'), of('track', 'beef')].map(({ deliveryId }) => deliveryId)
    expect(new Set(ids).size).toBe(2)
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/)
    expect(of('track').replay).toBe(false)
  })
})
