import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { render } from '../../delivery/render.ts'
import { codePoint } from '../helpers/code-point.ts'
import { anEvent } from '../helpers/events.ts'
import { aPoisonedName } from '../helpers/poison.ts'

const at = Date.UTC(2026, 0, 2, 3, 4, 5, 6)
const context = '{"device":{"model":"iPhone7,2","type":"ios"},"ip":"203.0.113.9"}'

describe('bodies, byte for byte, keys in the order of the contract', () => {
  const rows = [
    [
      'page',
      {
        type: 'page',
        userId: 'u1',
        properties: '{"path":"/a","referrer":"","title":"A","url":"https://x.example/a"}',
        context,
      },
      `{"version":1,"type":"page","userId":"u1","properties":{"path":"/a","referrer":"","title":"A","url":"https://x.example/a"},"timestamp":"2026-01-02T03:04:05.006Z","context":${context}}`,
    ],
    [
      'screen',
      { type: 'screen', userId: 'u1', name: 'Home', context },
      `{"version":1,"type":"screen","userId":"u1","name":"Home","timestamp":"2026-01-02T03:04:05.006Z","context":${context}}`,
    ],
    [
      'screen with properties and without name',
      { type: 'screen', userId: 'u1', properties: '{"a":1}' },
      '{"version":1,"type":"screen","userId":"u1","properties":{"a":1},"timestamp":"2026-01-02T03:04:05.006Z","context":{}}',
    ],
    [
      'screen with a category',
      { type: 'screen', userId: 'u1', name: 'Home', category: 'Shop' },
      '{"version":1,"type":"screen","userId":"u1","name":"Home","properties":{"category":"Shop"},"timestamp":"2026-01-02T03:04:05.006Z","context":{}}',
    ],
    [
      'screen with a category in its properties, too',
      { type: 'screen', userId: 'u1', category: 'Shop', properties: '{"category":"Own"}' },
      '{"version":1,"type":"screen","userId":"u1","properties":{"category":"Own"},"timestamp":"2026-01-02T03:04:05.006Z","context":{}}',
    ],
    [
      'identify',
      { type: 'identify', userId: 'u1', traits: '{"name":"Ann","age":41}', context },
      `{"version":1,"type":"identify","userId":"u1","traits":{"name":"Ann","age":41},"timestamp":"2026-01-02T03:04:05.006Z","context":${context}}`,
    ],
    [
      'track',
      { type: 'track', userId: 'u1', event: 'Order "Paid"', properties: '{"total":"12.50"}', context },
      `{"version":1,"type":"track","userId":"u1","event":"Order \\"Paid\\"","properties":{"total":"12.50"},"timestamp":"2026-01-02T03:04:05.006Z","context":${context}}`,
    ],
    [
      'alias',
      { type: 'alias', userId: 'new', previousId: 'old', context },
      `{"version":1,"type":"alias","Previous ID":"old","User ID":"new","timestamp":"2026-01-02T03:04:05.006Z","context":${context}}`,
    ],
    [
      'group',
      { type: 'group', userId: 'u1', groupId: 'g1', traits: '{"Company Name":"Acme"}', context },
      `{"version":1,"type":"group","groupId":"g1","userId":"u1","traits":{"Company Name":"Acme"},"timestamp":"2026-01-02T03:04:05.006Z","context":${context}}`,
    ],
    [
      'delete',
      { type: 'delete', userId: 'u1', context },
      '{"type":"delete","userId":"u1","timestamp":"2026-01-02T03:04:05.006Z"}',
    ],
    [
      'track of a user who is not known, with nothing given',
      { type: 'track', userId: null, anonymousId: 'anon', event: 'X' },
      '{"version":1,"type":"track","anonymousId":"anon","event":"X","properties":{},"timestamp":"2026-01-02T03:04:05.006Z","context":{}}',
    ],
  ] as const

  test.each(rows)('%s', (_, event, body) => {
    expect(render(anEvent({ ...event, timestamp: at }))).toBe(body)
  })
})

test('properties and contexts that are changed keep their names', () => {
  const members = `{"${aPoisonedName()}":1,"\\"":2`
  const event = { type: 'page', userId: 'u1', name: 'Home', properties: `${members}}` } as const
  expect(render(anEvent({ ...event, context: `${members},"integrations":{}}` }))).toContain(
    `"properties":${members},"name":"Home"},`,
  )
  expect(render(anEvent({ ...event, context: `${members},"integrations":{}}` }))).toContain(
    `"context":${members}}`,
  )
})

test('nothing is printed again: some numbers take long', () => {
  const members = '{"a":[9.0e-265],"b":{"integrations":{},"name":1}'
  const event = { type: 'page', userId: 'u1', name: 'Home', properties: `${members}}` } as const
  const body = render(anEvent({ ...event, context: `${members},"integrations":{}}` }))
  expect(body).toContain(`"properties":${members},"name":"Home"},`)
  expect(body).toContain(`"context":${members}}`)
})

test('a timestamp equals toISOString, whatever came before it', () => {
  const first = Date.parse('0001-01-01T00:00:00Z')
  const last = Date.parse('9999-12-31T23:59:59.999Z')
  const minute = fc.integer({ min: first / 60_000, max: (last - 59_999) / 60_000 })
  // many of each minute
  const times = fc.tuple(minute, fc.array(fc.integer({ min: -60_000, max: 60_000 })))
  fc.assert(
    fc.property(times, ([minutes, around]) => {
      for (const ms of around) {
        const timestamp = Math.min(last, Math.max(first, minutes * 60_000 + ms))
        expect(JSON.parse(render(anEvent({ timestamp }))).timestamp).toBe(new Date(timestamp).toISOString())
      }
    }),
  )
})

test('a userId is sent without the anonymousId', () => {
  expect(JSON.parse(render(anEvent({ userId: 'u', anonymousId: 'a' })))).not.toHaveProperty('anonymousId')
})

test("a page's name and category are added to its properties, unless the keys exist", () => {
  const page = anEvent({ type: 'page', name: 'Home', category: 'Docs', properties: '{"name":"own"}' })
  expect(JSON.parse(render(page)).properties).toEqual({ name: 'own', category: 'Docs' })
})

test('the Integrations object is not sent, wherever the call had it', () => {
  const integrations = '{"All":false,"Webhooks":true}'
  const context = `{"ip":"203.0.113.9","integrations":${integrations},"page":{"integrations":1}}`
  const body = JSON.parse(render(anEvent({ integrations, context })))
  expect(body).not.toHaveProperty('integrations')
  expect(body.context).toEqual({ ip: '203.0.113.9', page: { integrations: 1 } })
})

test('every body equals the output of JSON.stringify', () => {
  const json = fc
    .dictionary(fc.string(), fc.jsonValue())
    .map((value) => JSON.stringify(JSON.parse(JSON.stringify(value))))
  const text = fc.option(fc.string({ unit: codePoint }).map((value) => value.toWellFormed()))
  const type = fc.constantFrom('identify', 'track', 'page', 'screen', 'group', 'alias', 'delete')
  const event = fc.record({
    type,
    userId: text,
    anonymousId: text,
    event: text,
    name: text,
    category: text,
    groupId: text,
    previousId: text,
    properties: fc.option(json),
    traits: fc.option(json),
    context: fc.option(json),
  })
  fc.assert(
    fc.property(event, (fields) => {
      const body = render(anEvent(fields))
      expect(JSON.stringify(JSON.parse(body))).toBe(body)
    }),
  )
})
