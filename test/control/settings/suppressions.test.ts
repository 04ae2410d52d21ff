import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { idShape } from '../../../settings/settings.ts'
import { hashedId } from '../../../settings/suppression-list.ts'
import { codePoint } from '../../helpers/code-point.ts'
import { ADMIN, api, VIEW } from '../api.ts'
import { crm, shop } from '../in-memory.ts'

const url = '/api/suppressions'
const ofShop = { sourceId: 'shop', userId: 'u1' }
const post = (body: unknown) => ({ method: 'POST', url, body })

describe('a suppression', () => {
  test('of one source or of all is created, read and removed', async () => {
    for (const body of [ofShop, { sourceId: '*', userId: 'jane@example.com' }]) {
      const { ask, topic } = api({ sources: [shop] })
      const { status, headers, json } = await ask(post(body))
      expect([status, headers.location]).toEqual([201, `${url}/${json.id}`])
      expect(json).toEqual({
        ...body,
        id: expect.stringMatching(/^[0-9a-f]{32}$/),
        version: 1,
        updatedAt: expect.any(String),
      })
      const one = `${url}/${json.id}`
      expect(await ask({ url: one, token: VIEW })).toMatchObject({ status: 200, json })
      expect(await ask({ method: 'DELETE', url: one })).toMatchObject({ status: 204, text: '' })
      expect(topic.get(`suppression/${json.id}`)).toBeNull()
      expect(await ask({ url: one })).toMatchObject({ status: 404, json: { code: 'not_found' } })
    }
  })

  test('that is there already answers 409 and names it; once removed it can be made again, under the same id', async () => {
    const { ask } = api({ sources: [shop] })
    const { json } = await ask(post(ofShop))
    const again = await ask(post(ofShop))
    expect(again).toMatchObject({
      status: 409,
      json: { code: 'already_suppressed', errors: [{ pointer: '/userId' }] },
    })
    expect(again.json.message).toContain(json.id)
    expect((await ask(post({ ...ofShop, sourceId: '*' }))).status).toBe(201)
    await ask({ method: 'DELETE', url: `${url}/${json.id}` })
    expect(await ask(post(ofShop))).toMatchObject({ status: 201, json: { id: json.id, version: 1 } })
  })

  test.each<[unknown, string[]]>([
    [{}, ['/sourceId required', '/userId required']],
    [{ sourceId: 'shop' }, ['/userId required']],
    [{ sourceId: 'nope', userId: 'u' }, ['/sourceId unknown_source']],
    [{ sourceId: '', userId: 'u' }, ['/sourceId invalid_format']],
    [{ sourceId: '**', userId: 'u' }, ['/sourceId invalid_format']],
    [{ sourceId: null, userId: 'u' }, ['/sourceId invalid_type']],
    [{ sourceId: '*', userId: '' }, ['/userId too_short']],
    [{ sourceId: '*', userId: 42 }, ['/userId invalid_type']],
    [{ sourceId: '*', userId: '\udc00u' }, ['/userId invalid_value']],
    [{ sourceId: '*', userId: 'x'.repeat(32_769) }, ['/userId too_long']],
    [{ sourceId: 'nope', userId: '' }, ['/userId too_short', '/sourceId unknown_source']],
    [{ ...ofShop, id: 'mine', version: 1 }, ['/id unknown_field', '/version unknown_field']],
    [[ofShop], [' invalid_type']],
  ])('of %j is refused with all its faults', async (body, expected) => {
    const { ask, topic } = api({ sources: [shop] })
    const { status, json } = await ask(post(body))
    expect([status, json.code]).toEqual([400, 'validation_failed'])
    expect(
      json.errors.map((each: { pointer: string; code: string }) => `${each.pointer} ${each.code}`),
    ).toEqual(expected)
    expect(topic.size).toBe(0)
  })

  test('cannot be replaced, because it has nothing to change', async () => {
    const { ask } = api({ sources: [shop] })
    const { json } = await ask(post(ofShop))
    const put = { method: 'PUT', url: `${url}/${json.id}`, body: ofShop, headers: { 'if-match': '1' } }
    expect(await ask(put)).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD, DELETE' } })
  })

  test('needs the admin token, and its user is in no log line', async () => {
    const { ask, lines } = api({ sources: [shop] })
    const jane = post({ sourceId: '*', userId: 'jane@example.com' })
    expect((await ask({ ...jane, token: VIEW })).status).toBe(403)
    expect((await ask({ ...jane, token: '' })).status).toBe(401)
    expect((await ask({ ...jane, token: ADMIN })).status).toBe(201)
    expect(lines.join()).toContain('suppression')
    expect(lines.join()).not.toContain('jane')
  })
})

test('many come in pages, in id order', async () => {
  const { ask } = api({ sources: [shop] })
  for (let user = 0; user < 5; user++) await ask(post({ ...ofShop, userId: `u${user}` }))
  const first = (await ask({ url: `${url}?limit=3` })).json
  const second = (await ask({ url: `${url}?limit=3&cursor=${first.next}` })).json
  const ids = [...first.items, ...second.items].map(({ id }: { id: string }) => id)
  expect([ids, second.next]).toEqual([[...new Set(ids)].sort(), null])
  expect(ids).toHaveLength(5)
})

test('a removed source leaves its suppressions for a source created again under its id', async () => {
  const { ask, settings } = api({ sources: [shop], destinations: [{ ...crm, sourceIds: [] }] })
  const { json } = await ask(post(ofShop))
  expect((await ask({ method: 'DELETE', url: '/api/sources/shop' })).status).toBe(204)
  expect((await ask({ url: `${url}/${json.id}` })).status).toBe(200)
  expect(settings.suppressions.size).toBe(1)
})

describe('an id', () => {
  const parts = fc.tuple(fc.string({ unit: codePoint }), fc.string({ unit: codePoint }))

  test('is valid, and the same only for the same source and user', () => {
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        expect(idShape.safeParse(hashedId(one)).success).toBe(true)
        expect(hashedId(one)).toBe(hashedId([...one]))
        expect(hashedId(one) === hashedId(other)).toBe(JSON.stringify(one) === JSON.stringify(other))
      }),
    )
  })

  test.each([
    [
      ['shop', 'u1'],
      ['shopu', '1'],
    ],
    [
      ['shop', 'a","b'],
      ['shop","a', 'b'],
    ],
    // these two have the same UTF-8 form
    [
      ['shop', '\ud800'],
      ['shop', '\ud801'],
    ],
  ])('of %j is not that of %j', (one, other) => {
    expect(hashedId(one)).not.toBe(hashedId(other))
  })
})
