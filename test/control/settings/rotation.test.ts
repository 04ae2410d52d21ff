import { describe, expect, test } from 'vitest'
import { create, type Decided, replace } from '../../../settings/resources/decide.ts'
import { destinations } from '../../../settings/resources/destinations.ts'
import type { Destination } from '../../../settings/settings.ts'
import { ADMIN, api } from '../api.ts'
import { crm, factsOf, faults, given, made, now, shop, unreachable } from '../in-memory.ts'

const until = '2026-02-01T00:00:00Z'
const later = '2026-03-01T00:00:00Z'
const past = '2025-02-01T00:00:00Z'
const rotating: Destination = { ...crm, previousSecret: 'older-secret', previousSecretExpiresAt: until }
const rotatedBefore: Destination = { ...rotating, previousSecretExpiresAt: past }

const put = (old: Destination, body: object) => {
  const facts = factsOf({ sources: [shop], destinations: [old] })
  return replace(destinations, { now, made, unreachable, id: 'crm', version: old.version, body }, facts)
}
const record = (decided: Decided<Destination>) => {
  if ('refusal' in decided) throw new Error(`refused: ${JSON.stringify(decided.refusal)}`)
  return decided.record
}

describe('a new secret with an expiry', () => {
  test('turns the current one into the previous, which the client need not know', () => {
    const body = { ...given, sharedSecret: 'new-secret', previousSecretExpiresAt: until }
    expect(record(put(crm, body))).toMatchObject({
      sharedSecret: 'new-secret',
      previousSecret: 'shared-secret',
      previousSecretExpiresAt: until,
    })
  })

  test('does so again after an earlier rotation', () => {
    const body = { ...given, sharedSecret: 'new-secret', previousSecretExpiresAt: later }
    expect(record(put(rotating, body))).toMatchObject({ previousSecret: 'shared-secret' })
  })

  test('can come with an explicit previous one', () => {
    const body = { ...given, sharedSecret: 'new', previousSecret: 'known', previousSecretExpiresAt: until }
    expect(record(put(crm, body))).toMatchObject({ sharedSecret: 'new', previousSecret: 'known' })
  })

  test('with the mask of the previous one is refused: the current one would be lost', () => {
    const body = {
      ...rotating,
      sharedSecret: 'new-secret',
      previousSecret: '***',
      previousSecretExpiresAt: later,
    }
    expect(faults(put(rotating, body))).toEqual(['/previousSecret outdated_secret'])
    const isOver = { ...body, previousSecretExpiresAt: past }
    expect(faults(put(rotating, isOver))).toEqual(['/previousSecret outdated_secret'])
  })

  test('with all other fields sent back is refused during a rotation, for the same reason', () => {
    const read = { ...rotating, sharedSecret: 'new-secret', previousSecret: '***' }
    expect(faults(put(rotating, read))).toEqual(['/previousSecret outdated_secret'])
    expect(faults(put(rotating, { ...read, previousSecret: 'older-secret' }))).toEqual([
      '/previousSecret outdated_secret',
    ])
  })

  test.each([past, now])(
    'that does not lie ahead (%s) is refused: the present one would be lost',
    (expiry) => {
      const body = { ...given, sharedSecret: 'new-secret', previousSecretExpiresAt: expiry }
      for (const old of [crm, rotating])
        expect(faults(put(old, body))).toEqual(['/previousSecretExpiresAt already_past'])
      expect(faults(put(crm, { ...body, previousSecret: 'shared-secret' }))).toEqual([
        '/previousSecretExpiresAt already_past',
      ])
    },
  )

  test('in another time zone is compared correctly', () => {
    const at = (previousSecretExpiresAt: string) =>
      put(crm, { ...given, sharedSecret: 'new-secret', previousSecretExpiresAt })
    expect(record(at('2026-01-02T01:04:06.678-02:00'))).toMatchObject({ previousSecret: 'shared-secret' })
    expect(faults(at('2026-01-02T05:04:04+02:00'))).toEqual(['/previousSecretExpiresAt already_past'])
  })

  test('repeated after a lost response changes nothing', () => {
    const body = { ...given, sharedSecret: 'new-secret', previousSecretExpiresAt: until }
    const first = record(put(crm, body))
    if (!first) throw new Error('removed')
    expect(record(put(first, body))).toEqual({ ...first, version: first.version + 1 })
  })
})

describe('a new secret without an expiry', () => {
  test('replaces the current one at once', () => {
    const body = { ...given, sharedSecret: 'new-secret' }
    expect(record(put(rotating, body))).not.toHaveProperty('previousSecret')
  })

  test('does so even if the past expiry of an earlier rotation is sent back', () => {
    const read = { ...rotatedBefore, sharedSecret: 'new-secret', previousSecret: '***' }
    expect(record(put(rotatedBefore, read))).toMatchObject({
      sharedSecret: 'new-secret',
      previousSecret: 'older-secret',
      previousSecretExpiresAt: past,
    })
  })
})

test('what was read can be sent back during a rotation, also with another expiry', () => {
  const read = { ...rotating, sharedSecret: '***', previousSecret: '***' }
  expect(record(put(rotating, read))).toEqual({ ...rotating, version: 3, updatedAt: now })
  expect(record(put(rotating, { ...read, previousSecretExpiresAt: later }))).toMatchObject({
    previousSecret: 'older-secret',
    previousSecretExpiresAt: later,
  })
  expect(record(put(rotating, { ...read, previousSecretExpiresAt: past }))).toMatchObject({
    previousSecretExpiresAt: past,
  })
})

test('what was read can be sent back long after a rotation', () => {
  const read = { ...rotatedBefore, sharedSecret: '***', previousSecret: '***' }
  expect(record(put(rotatedBefore, read))).toEqual({ ...rotatedBefore, version: 3, updatedAt: now })
})

test('leaving both out ends a rotation', () => {
  const { previousSecret: _, previousSecretExpiresAt: __, ...rest } = rotating
  expect(record(put(rotating, rest))).toEqual({ ...crm, version: 3, updatedAt: now })
})

describe('a previous secret and its expiry come together', () => {
  const fresh = (body: object) =>
    create(destinations, { now, made, unreachable, body: { ...given, ...body } }, factsOf({}))

  test('when a destination is made', () => {
    expect(faults(fresh({ previousSecret: 'old' }))).toEqual(['/previousSecretExpiresAt required'])
    expect(faults(fresh({ sharedSecret: 'new', previousSecretExpiresAt: until }))).toEqual([
      '/previousSecret required',
    ])
    expect(
      record(fresh({ sharedSecret: 'new', previousSecret: 'old', previousSecretExpiresAt: until })),
    ).toMatchObject({ previousSecret: 'old' })
  })

  test('when there is no current secret, or it does not change', () => {
    const expiry = { ...given, previousSecretExpiresAt: until }
    const { sharedSecret: _, ...open } = crm
    expect(faults(put(open, { ...expiry, sharedSecret: 'new' }))).toEqual(['/previousSecret required'])
    expect(faults(put(crm, { ...expiry, sharedSecret: '***' }))).toEqual(['/previousSecret required'])
    expect(faults(put(crm, expiry))).toEqual(['/previousSecret required'])
    expect(faults(put(rotating, { ...expiry, sharedSecret: '***', previousSecretExpiresAt: later }))).toEqual(
      ['/previousSecret required'],
    )
  })

  test('and errors of shape take precedence', () => {
    expect(faults(put(crm, { ...given, previousSecret: 5, previousSecretExpiresAt: until }))).toEqual([
      '/previousSecret invalid_type',
    ])
    for (const expiry of [5, 'soon', '2025-02-01'])
      expect(
        faults(put(crm, { ...given, sharedSecret: 'new', previousSecretExpiresAt: expiry })).map((fault) =>
          fault.split(' ').at(0),
        ),
      ).toEqual(['/previousSecretExpiresAt'])
  })
})

describe('with Standard Webhooks', () => {
  const withSecret = (sharedSecret: string, standardWebhooks = true) =>
    put(crm, { ...given, sharedSecret, standardWebhooks })

  test.each(['whsec_', 'whsec_!!!!', 'whsec_abc', 'whsec_YWJj\n', 'whsec_YWJjZA', 'whsec_a-_b'])(
    '%j is refused: no library could verify with it',
    (secret) => {
      expect(faults(withSecret(secret))).toEqual(['/sharedSecret invalid_secret'])
    },
  )

  test.each(['whsec_YWJj', 'whsec_YWJjZA==', 'whsec_YWJjZGU=', 'any text', 'WHSEC_x'])(
    '%j is taken',
    (secret) => {
      expect(record(withSecret(secret))).toMatchObject({ sharedSecret: secret })
    },
  )

  test('the rule applies to the previous secret too, and to none without the setting', () => {
    const body = { ...given, sharedSecret: 's', standardWebhooks: true }
    expect(faults(put(crm, { ...body, previousSecret: 'whsec_!', previousSecretExpiresAt: until }))).toEqual([
      '/previousSecret invalid_secret',
    ])
    expect(record(withSecret('whsec_!!!!', false))).toMatchObject({ sharedSecret: 'whsec_!!!!' })
  })

  const wrong: Destination = { ...crm, sharedSecret: 'whsec_!!!!' }

  test('the rule applies to a secret that a rotation makes the previous, and when the setting is turned on', () => {
    const rotation = { sharedSecret: 'new', previousSecretExpiresAt: until, standardWebhooks: true }
    expect(faults(put(wrong, { ...given, ...rotation }))).toEqual(['/previousSecret invalid_secret'])
    expect(faults(put(wrong, { ...wrong, sharedSecret: '***', standardWebhooks: true }))).toEqual([
      '/sharedSecret invalid_secret',
    ])
  })

  test('a secret from before this rule blocks no other change, nor its rotation', () => {
    const stored: Destination = { ...wrong, standardWebhooks: true }
    const read = { ...stored, sharedSecret: '***', name: 'CRM 2' }
    expect(record(put(stored, read))).toMatchObject({ name: 'CRM 2', sharedSecret: 'whsec_!!!!' })
    const rotation = { ...read, sharedSecret: 'new', previousSecretExpiresAt: until }
    expect(record(put(stored, rotation))).toMatchObject({ previousSecret: 'whsec_!!!!' })
    expect(faults(put(stored, { ...read, sharedSecret: 'whsec_?' }))).toEqual([
      '/sharedSecret invalid_secret',
    ])
  })
})

test('statuses to retry must be unique and allowed', () => {
  expect(faults(put(crm, { ...given, retryOn: [408, 429, 408, 408] }))).toEqual([
    '/retryOn/2 duplicate_value',
    '/retryOn/3 duplicate_value',
  ])
  const decided = put(crm, { ...given, retryOn: [404] })
  expect(decided).toMatchObject({ refusal: { faults: [{ message: 'use one of 408, 425, 429' }] } })
  expect(record(put(crm, { ...given, retryOn: [408, 425, 429] }))).toMatchObject({ retryOn: [408, 425, 429] })
})

test('a rotation over HTTP keeps every secret out of the responses', async () => {
  const { ask, settings } = api({ sources: [shop], destinations: [crm] })
  const body = { ...given, sharedSecret: 'new-secret', previousSecretExpiresAt: '2099-01-01T00:00:00Z' }
  const answer = await ask({
    method: 'PUT',
    url: '/api/destinations/crm',
    token: ADMIN,
    body,
    headers: { 'if-match': '2' },
  })
  expect(answer).toMatchObject({ status: 200, json: { sharedSecret: '***', previousSecret: '***' } })
  expect(answer.text).not.toMatch(/new-secret|shared-secret/)
  expect(settings.destinations.get('crm')).toMatchObject({ previousSecret: 'shared-secret' })
})

test('a webhook whose header values are too long in total is refused, and the fault names it', () => {
  const webhookWith = (lengths: number[]) => ({
    url: 'https://crm.example/hook',
    headers: Object.fromEntries(lengths.map((length, index) => [`X-${index}`, 'v'.repeat(length)])),
  })
  const tooLong = { ...given, webhooks: [webhookWith([4_096, 4_096]), webhookWith([4_096, 4_096, 1])] }
  expect(faults(put(crm, tooLong))).toEqual(['/webhooks/1/headers too_long'])
})
