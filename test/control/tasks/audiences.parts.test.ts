import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  diff,
  memberKey,
  memberRecord,
  openComparison,
  readLines,
  valueIn,
} from '../../../control/tasks/audiences/comparison.ts'
import { identifyOf, writeChanges } from '../../../control/tasks/audiences/identify-events.ts'
import { readPatch } from '../../../control/tasks/audiences/members-patch.ts'
import { csvChanges } from '../../../control/tasks/audiences/upload-csv.ts'
import {
  changesIn,
  jsonMember,
  type OnInvalid,
  plainMember,
  type ReadLine,
  traitValue,
  type UploadFault,
} from '../../../control/tasks/audiences/upload-lines.ts'
import { lineOf } from '../../../control/tasks/audiences/upload-records.ts'
import { render } from '../../../delivery/render.ts'
import { partitionOf } from '../../../kafka/produce/partition.ts'
import type { OutRecord, Produced } from '../../../kafka/produce/produce.ts'
import type { Sync } from '../../../schemas/task.ts'
import { keyOf } from '../../../settings/resources/audiences-and-traits.ts'
import { aPoisonedName } from '../../helpers/poison.ts'
import { aSync } from '../tasks-in-memory.ts'

test.each([
  ['High Value Users (EU)', 'high_value_users_eu'],
  ['HTTPUsers2', 'http_users2'],
  ['users', 'users'],
  ['camelCase', 'camel_case'],
  ['PascalCaseName', 'pascal_case_name'],
  ['getHTTPResponse', 'get_http_response'],
  ['already_snake_case', 'already_snake_case'],
  ['kebab-case.and/slash', 'kebab_case_and_slash'],
  ['  spaces  around\tand  within ', 'spaces_around_and_within'],
  ['__init__', 'init'],
  ['2024 Buyers', '2024_buyers'],
  ['Top10', 'top10'],
  ['Top10Buyers', 'top10_buyers'],
  ['3D', '3_d'],
  ['100%', '100'],
  ['ABC', 'abc'],
  ['Käufer Größe', 'käufer_größe'],
  ['ÜberUns', 'über_uns'],
  ['Cafe\u0301 Nord', 'café_nord'],
  ['Κάτω ΑθήναΠόλη', 'κάτω_αθήνα_πόλη'],
  ['большиеПокупки', 'большие_покупки'],
  ['高価値ユーザー EU', '高価値ユーザー_eu'],
  ['हिन्दी सूची', 'हिन्दी_सूची'],
  ['ＦｕｌｌＷｉｄｔｈ', 'full_width'],
  ['VIP 🎉 users', 'vip_users'],
  ['', ''],
  ['!?', ''],
  ['🎉', ''],
])('the key of %j is %j', (name, key) => {
  expect(keyOf(name)).toBe(key)
})

test('a key has words with single underscores between them, and is its own key', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (name) => {
      const key = keyOf(name)
      expect(key).not.toMatch(/^_|__|_$|\s/)
      expect(keyOf(key)).toBe(key)
    }),
  )
})

describe('the difference', () => {
  const users = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.constantFrom('1', '2'))
  const listed = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), fc.constantFrom('1', '2', null))

  test.each(['removed', 'stay', 'forgotten'] as const)(
    'turns the stored values into the listed ones; unlisted users: %s',
    (others) => {
      fc.assert(
        fc.property(users, listed, (before, after) => {
          const [current, list] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
          const changes = [...diff({ current, listed: list, others })]
          const result = new Map<string, string>(current)
          for (const { userId, value } of changes) {
            expect(value).not.toBe(result.get(userId) ?? null)
            if (value === null) result.delete(userId)
            else result.set(userId, value)
          }
          const wanted = new Map([...(others === 'removed' ? [] : current), ...list])
          const valued = [...wanted].filter(([, value]) => value !== null)
          expect(Object.fromEntries(result)).toEqual(Object.fromEntries(valued))
          expect(new Set(changes.map(({ userId }) => userId)).size).toBe(changes.length)
        }),
      )
    },
  )
})

const poisonedName = aPoisonedName()
const escapedName = aPoisonedName(String.raw`\u0075`)

async function read(chunks: readonly (string | Buffer)[], readLine: ReadLine) {
  const text = (async function* () {
    for (const chunk of chunks) yield Buffer.from(chunk)
  })()
  const found = []
  for await (const changes of changesIn(text, readLine)) found.push(...changes)
  return found
}

describe('an upload', () => {
  test('is read line by line, wherever chunks end, with either line ending and with none at the end', async () => {
    const text = Buffer.from('\ufeffu1\r\nüser 2\n\n  u3 \n用户4')
    for (let cut = 0; cut <= text.length; cut++) {
      const members = await read([text.subarray(0, cut), text.subarray(cut)], plainMember)
      expect(members.map(({ userId }) => userId)).toEqual(['u1', 'üser 2', 'u3', '用户4'])
    }
  })

  test.each<[string, ReadLine, string, object]>([
    ['an id', jsonMember, '"u1"', { userId: 'u1', value: 'true' }],
    ['an object', jsonMember, '{"userId":"u1","more":1}', { userId: 'u1', value: 'true' }],
    ['a number', traitValue, '{"userId":"u1","value":42}', { userId: 'u1', value: '42' }],
    [
      'an object as value',
      traitValue,
      '{"userId":"u1","value": {"a": [1]}}',
      { userId: 'u1', value: '{"a":[1]}' },
    ],
    [
      'digits that a double has, however they are written',
      traitValue,
      '{"userId":"u1","value":[0.30000000000000004, 1.50, 1e2, 12E+1, -0, 0e9, 1200, 0.0012, 9007199254740992.0e0, 5e-324]}',
      { userId: 'u1', value: '[0.30000000000000004,1.5,100,120,0,0,1200,0.0012,9007199254740992,5e-324]' },
    ],
    [
      'a name with a quote, whatever names earlier lines had',
      traitValue,
      `{"userId":"u1","value":{"${poisonedName}":1,"\\"":2}}`,
      { userId: 'u1', value: `{"${poisonedName}":1,"\\"":2}` },
    ],
    [
      'an id whose name has an escape, whatever names earlier lines had',
      jsonMember,
      String.raw`{"${escapedName}":1,"\u0075serId":"u1"}`,
      { userId: 'u1', value: 'true' },
    ],
    ['no value any more', traitValue, '{"userId":"u1","value":null}', { userId: 'u1', value: null }],
  ])('takes %s as a line', async (_, readLine, line, expected) => {
    expect(await read([line], readLine)).toEqual([expected])
  })

  test.each<[string, ReadLine, string | Buffer, string, number]>([
    ['no JSON', jsonMember, '"u1"\nu2\n', 'invalid_line', 2],
    ['a number as id', jsonMember, '17', 'invalid_line', 1],
    ['an empty id', jsonMember, '{"userId":""}', 'invalid_line', 1],
    ['half of a character as id', jsonMember, String.raw`"\ud800"`, 'invalid_line', 1],
    ['no value', traitValue, '{"userId":"u1"}', 'invalid_line', 1],
    [
      'a whole number too long',
      traitValue,
      '{"userId":"u1","value":12345678901234567890}',
      'inexact_number',
      1,
    ],
    ['2^53 + 1', traitValue, '{"userId":"u1","value":[9007199254740993]}', 'inexact_number', 1],
    ['too many decimals', traitValue, '{"userId":"u1","value":0.1000000000000000055}', 'inexact_number', 1],
    ['a number too large', traitValue, '{"userId":"u1","value":{"a":1e400}}', 'inexact_number', 1],
    ['a number too small', traitValue, '{"userId":"u1","value":-1e-400}', 'inexact_number', 1],
    [
      'a value too deep',
      traitValue,
      `{"userId":"u1","value":${'['.repeat(9_000)}${']'.repeat(9_000)}}`,
      'invalid_line',
      1,
    ],
    ['a value too large', traitValue, `{"userId":"u1","value":"${'x'.repeat(16_384)}"}`, 'invalid_line', 1],
    [
      'columns with semicolons under the name of plain text',
      plainMember,
      'userId;plan\nu1;pro',
      'csv_as_text',
      1,
    ],
    ['columns with tabs under the name of plain text', plainMember, '"Plan"\t"User_ID"\n', 'csv_as_text', 1],
    ['columns with commas under the name of plain text', plainMember, '\ufeffplan,userId', 'csv_as_text', 1],
    ['one column under the name of plain text', plainMember, 'user_id\nu1\n', 'csv_as_text', 1],
    ['several fields under the name of plain text', plainMember, 'u1\nu2\tpro\n', 'invalid_line', 2],
    ['JSON under the name of plain text', plainMember, 'u1\n{"userId":"u2"}\n', 'invalid_line', 2],
    ['an id too long', plainMember, 'x'.repeat(32_769), 'invalid_line', 1],
    ['a line that never ends', plainMember, `u1\n${'x'.repeat(50_000)}`, 'line_too_long', 2],
    ['no UTF-8', plainMember, Buffer.from([0x75, 0xff, 0x0a]), 'invalid_encoding', 1],
    ['half of a character at its end', plainMember, Buffer.from([0x75, 0xc3]), 'invalid_encoding', 1],
  ])('with %s is refused, and its line named', async (_, readLine, text, code, line) => {
    const fault = await read([text], readLine).catch((error: UploadFault) => error)
    expect(fault).toMatchObject({ code, line })
  })

  test('as plain text may have ids with commas and semicolons, and one that is called like a column', async () => {
    const members = await read(['u1;a@b.example\nu2,pro\nuserId\nmy userId;1\n'], plainMember)
    expect(members.map(({ userId }) => userId)).toEqual(['u1;a@b.example', 'u2,pro', 'userId', 'my userId;1'])
  })

  test('of CSV as plain text is refused, even if invalid lines are left out', async () => {
    const all = changesIn(chunked('userId;plan\nu1;pro\n', 7), plainMember, () => undefined)
    await expect(Array.fromAsync(all)).rejects.toMatchObject({ code: 'csv_as_text', line: 1 })
  })

  test('accepts values with at most 62 levels of nesting, and names the limit', () => {
    const valued = (levels: number) => `{"userId":"u1","value":${'['.repeat(levels)}${']'.repeat(levels)}}`
    expect(traitValue(valued(62), 1)).toMatchObject({ userId: 'u1' })
    for (const levels of [63, 5_000])
      expect(() => traitValue(valued(levels), 1)).toThrow('has a value with more than 62 levels of nesting')
  })

  test('accepts exactly the numbers that a double can hold', () => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.integer({ min: 0, max: 20 }),
        (number, digits) => {
          const [plain, exponential] = [String(number), number.toExponential()]
          for (const written of [
            plain,
            exponential,
            exponential.replace('e', `${exponential.includes('.') ? '' : '.'}${'0'.repeat(digits + 1)}e`),
          ])
            expect(traitValue(`{"userId":"u1","value":${written}}`, 1).value).toBe(JSON.stringify(number))
        },
      ),
    )
  })

  test('is unchanged after it was in Kafka', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ userId: fc.string(), value: fc.option(fc.json()) }), { minLength: 1 }),
        (changes) => {
          expect([...readLines(Buffer.from(changes.map(lineOf).join('\n')))]).toEqual(changes)
        },
      ),
    )
  })
})

const chunked = (text: string | Buffer, size: number) =>
  (async function* () {
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  })()

async function readCsv(text: string, kind: 'audience' | 'trait', onInvalid?: OnInvalid) {
  const found = []
  for await (const changes of csvChanges(chunked(text, 7), kind, onInvalid)) found.push(...changes)
  return found
}

describe('CSV', () => {
  const quoted = (field: string) => `"${field.replaceAll('"', '""')}"`
  const units = ['a', '"', ',', ';', '\t', '\n', '\r', ' ', 'ü', '用']
  const field = fc.string({ unit: fc.constantFrom(...units) })

  test('is read as it was written, whatever its fields contain and wherever chunks end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(',', ';', '\t'),
        fc.array(fc.record({ id: field, more: field, value: field }), { maxLength: 5 }),
        fc.constantFrom('\n', '\r\n'),
        fc.integer({ min: 1, max: 20 }),
        async (separator, rows, newline, size) => {
          const given = rows.map(({ id, ...row }, index) => ({ ...row, id: `u${index} ${id}x` }))
          const lines = given.map(({ id, more, value }) => [more, id, value].map(quoted).join(separator))
          const text = [['more', 'User_ID', 'value'].join(separator), ...lines].join(newline)
          const found = []
          for await (const changes of csvChanges(chunked(text, size), 'trait')) found.push(...changes)
          expect(found).toEqual(
            given.map(({ id, value }) => ({
              userId: id.trim(),
              value: value === '' ? null : JSON.stringify(value),
            })),
          )
        },
      ),
    )
  })

  test.each<[string, string, unknown]>([
    ['a number', '42', 42],
    ['a number with an exponent', '-1.5e3', -1500],
    ['a truth value', 'true', true],
    ['digits that are not a JSON number', '007', '007'],
    ['text', ' x', ' x'],
    ['null as text', 'null', 'null'],
  ])('takes %s as the value it looks like', async (_, written, value) => {
    expect(await readCsv(`userId,value\nu1,${written}\n`, 'trait')).toEqual([
      { userId: 'u1', value: JSON.stringify(value) },
    ])
  })

  test('names the line of each fault, and reads on after it', async () => {
    const faults: string[] = []
    const text = [
      'userId,value',
      'u1,1',
      'u2',
      'u3,1,2',
      ',1',
      'u"5,1',
      '"u6"x,1',
      'u7,12345678901234567890',
      '',
      '"u\n9",1',
      'u10,"open',
    ].join('\n')
    const found = await readCsv(text, 'trait', ({ line, code }) => void faults.push(`${line} ${code}`))
    expect(found.map(({ userId }) => userId)).toEqual(['u1', 'u\n9'])
    expect(faults).toEqual([
      ...['3', '4', '5', '6', '7'].map((line) => `${line} invalid_line`),
      '8 inexact_number',
      '12 invalid_line',
    ])
  })

  test.each([
    ['no column of user ids', 'audience', 'id\nu1\n'],
    ['another separator', 'trait', 'userId|value\nu1|1\n'],
    ['two separators', 'trait', 'userId;plan,value\nu1;pro,1\n'],
    ['a column of user ids in quotes that a separator cuts', 'audience', '"a,userId,b";userId\nx;u1\n'],
    ['no values', 'trait', 'userId\nu1\n'],
    ['two columns of user ids', 'audience', 'userId,user_id\nu1,u2\n'],
  ] as const)('with %s is refused, even if invalid lines are left out', async (_, kind, text) => {
    await expect(readCsv(text, kind, () => undefined)).rejects.toMatchObject({
      code: 'invalid_line',
      line: 1,
    })
  })

  test.each([
    ['with semicolons', '\ufeff"Name, first";userId;value\r\n"Z; A";u,1;1.5\r\n', 'u,1', 1.5],
    ['with tabs', 'userId\tvalue\nu;1\tx,y;z\n', 'u;1', 'x,y;z'],
    ['with commas, although semicolons would do', 'userId,value,x;userId\nu;1,7,y;z\n', 'u;1', 7],
    ['with commas, and a decimal comma as text', 'userId,value\nu1,"1,5"\n', 'u1', '1,5'],
  ])('is split at the separator of its header: %s', async (_, text, userId, value) => {
    expect(await readCsv(text, 'trait')).toEqual([{ userId, value: JSON.stringify(value) }])
  })

  test.each(['4,5', '-4,5', '1.234,56', ' 0,10 '])('with semicolons refuses the number %j', async (value) => {
    const faults: string[] = []
    const text = `userId;value\nu1;${value}\nu2;4.5\nu3;4,5 kg\n`
    const found = await readCsv(text, 'trait', ({ line, message }) => void faults.push(`${line} ${message}`))
    expect(found).toEqual([
      { userId: 'u2', value: '4.5' },
      { userId: 'u3', value: '"4,5 kg"' },
    ])
    expect(faults).toEqual([expect.stringMatching(/^2 has the value .* with a decimal point/)])
  })

  test('of one column keeps semicolons and tabs in its ids', async () => {
    const found = await readCsv('userId\nu;1\nu\t2\n', 'audience')
    expect(found.map(({ userId }) => userId)).toEqual(['u;1', 'u\t2'])
  })

  test('skips lines of spaces, as other formats do', async () => {
    const found = await readCsv('\r\nuserId\nu1\n  \n\t\r\nu2\n ', 'audience')
    expect(found.map(({ userId }) => userId)).toEqual(['u1', 'u2'])
  })

  test('does not hold an endless record', async () => {
    const text = `userId\n"${'x\n'.repeat(30_000)}`
    await expect(readCsv(text, 'audience', () => undefined)).rejects.toMatchObject({
      code: 'line_too_long',
      line: 2,
    })
  })
})

test('lines that cannot be used are left out on request', async () => {
  const faults: number[] = []
  const text = chunked('"u1"\nu2\n" "\n  \n" u4 "\n', 3)
  const found = []
  for await (const changes of changesIn(text, jsonMember, ({ line }) => void faults.push(line)))
    found.push(...changes)
  expect([found.map(({ userId }) => userId), faults]).toEqual([
    ['u1', 'u4'],
    [2, 3],
  ])
})

describe('the record of a user', () => {
  const of = { kind: 'trait', id: 'ltv' } as const
  const since = '2026-01-02T03:04:05.678Z'

  test('holds the value last sent, and is ignored by a resource created again under the same id', () => {
    fc.assert(
      fc.property(fc.json(), (value) => {
        const { value: record } = memberRecord({ userId: 'u1', value }, of, since)
        expect(valueIn(Buffer.from(record ?? ''), since)).toBe(value)
        expect(valueIn(Buffer.from(record ?? ''), '2026-01-02T03:04:05.679Z')).toBeUndefined()
      }),
    )
  })

  test('is removed with the value, under the key of the topic', () => {
    const record = memberRecord({ userId: 'a/b', value: null }, of, since)
    expect(record).toEqual({ topic: 'trait-values', key: 'ltv/a/b', value: null })
  })
})

describe('an identify call', () => {
  const sync: Sync = {
    kind: 'sync',
    id: 's1',
    createdAt: '2026-01-02T03:04:05.678Z',
    state: 'accepted',
    of: { kind: 'audience', id: 'vip' },
    others: 'removed',
    ranges: [],
    lines: 1,
  }
  const computation = {
    id: 'vip',
    name: 'VIP "users"',
    sourceId: 'shop',
    key: 'vip_users',
    createdAt: sync.createdAt,
    lastSyncAt: null,
    version: 1,
    updatedAt: sync.createdAt,
  }

  test.each<[Sync['of']['kind'], string | null, unknown]>([
    ['audience', 'true', true],
    ['audience', null, false],
    ['trait', '{"a":1}', { a: 1 }],
    ['trait', null, null],
  ])('of an %s whose value is %j tells %j', (kind, value, told) => {
    const event = identifyOf({ userId: 'u1', value }, { ...sync, of: { kind, id: 'vip' } }, computation)
    expect(JSON.parse(render(event))).toEqual({
      version: 1,
      type: 'identify',
      userId: 'u1',
      traits: { vip_users: told },
      timestamp: sync.createdAt,
      context: { personas: { computation_class: kind, computation_id: 'vip', computation_key: 'vip_users' } },
    })
    expect(event.sourceId).toBe('shop')
  })

  test('has an id that depends only on user and sync', () => {
    const idOf = (userId: string, id = 's1') =>
      identifyOf({ userId, value: 'true' }, { ...sync, id }, computation).messageId
    expect(idOf('u1')).toBe(idOf('u1'))
    expect(new Set([idOf('u1'), idOf('u2'), idOf('u1', 's2')]).size).toBe(3)
  })

  test('has an id that depends on the secret salt of the sync', () => {
    const idOf = (more: Partial<Sync>) =>
      identifyOf({ userId: 'u1', value: 'true' }, { ...sync, ...more }, computation).messageId
    expect(idOf({ salt: 'a' })).toBe(idOf({ salt: 'a' }))
    expect(new Set([idOf({}), idOf({ salt: 'a' }), idOf({ salt: 'b' })]).size).toBe(3)
  })

  test.each<[Produced, string[], boolean]>([
    ['acked', ['events', 'audience-members'], true],
    ['acked', ['events'], false],
    ['unknown', ['events'], true],
  ])(
    'that is %s writes %j: a member counts as reported once the call is written, unless the process lost the sync',
    async (outcome, topics, mayStore) => {
      const written: string[] = []
      const producer = {
        async produce(records: readonly OutRecord[]) {
          written.push(...records.map(({ topic }) => topic))
          return outcome
        },
      }
      const writing = { producer, encode: () => Buffer.alloc(0), mayStore: async () => mayStore }
      const parts = { sync, computation, suppressed: undefined, ...writing }
      await writeChanges([{ userId: 'u1', value: 'true' }], parts).catch(() => undefined)
      expect(written).toEqual(topics)
    },
  )
})

test.each<[string, object, object]>([
  ['nothing', {}, { changes: [] }],
  [
    'both',
    { add: ['u1'], remove: ['u2'] },
    {
      changes: [
        { userId: 'u1', value: 'true' },
        { userId: 'u2', value: null },
      ],
    },
  ],
  ['ids with spaces around them', { add: [' u1\t'] }, { changes: [{ userId: 'u1', value: 'true' }] }],
  ['no list', { add: 'u1' }, { faults: [{ pointer: '/add', code: 'invalid_type' }] }],
  ['another field', { added: [] }, { faults: [{ pointer: '/added', code: 'unknown_field' }] }],
  [
    'an id that is no Unicode',
    { add: ['u1', 'u\ud800'] },
    { faults: [{ pointer: '/add/1', code: 'invalid_value' }] },
  ],
  ['an id of spaces', { add: ['  '] }, { faults: [{ pointer: '/add/0', code: 'too_short' }] }],
  ['an empty id', { remove: [''] }, { faults: [{ pointer: '/remove/0', code: 'too_short' }] }],
  [
    'the same user twice',
    { add: ['u1'], remove: ['u0', 'u1'] },
    { faults: [{ pointer: '/remove/1', code: 'in_both' }] },
  ],
])('a change of %s', (_, body, expected) => {
  expect(readPatch(body)).toMatchObject(expected)
})

describe('a comparison after partitions were added', () => {
  const since = '2026-01-02T03:04:05.678Z'
  const of = { kind: 'audience', id: 'vip' } as const
  const users = Array.from({ length: 40 }, (_, index) => `u${index}`)
  /** Written when their topic had `before` partitions. */
  const kept = (before: number, value: (user: string) => Buffer | null) =>
    users.map((user) => {
      const key = Buffer.from(memberKey(of, user))
      return { partition: partitionOf(key, before), key, value: value(user) }
    })
  const member = (userId: string) =>
    Buffer.from(String(memberRecord({ userId, value: 'true' }, of, since).value))

  const compared = async (records: ReturnType<typeof kept>, now: number, opened = now) => {
    const bounds = async () =>
      new Map(Array.from({ length: now }, (_, partition) => [partition, { low: 0, high: records.length }]))
    const reader = {
      partitions: opened,
      bounds,
      read: async ({ partition }: { partition: number }, onValue: (...given: never[]) => void) => {
        for (const record of records)
          if (record.partition === partition)
            onValue(...([record.value, 0, { key: record.key, timestamp: 0 }] as never[]))
      },
    }
    const comparison = await openComparison(aSync({ of }), since, { readerOf: async () => reader })
    return Promise.allSettled(comparison.partitions.map((partition) => comparison.read(partition)))
  }

  test('fails in every partition that has misplaced members, so nobody is reported as gone', async () => {
    const results = await compared(kept(3, member), 5)
    const codes = results.map((result) => (result.status === 'rejected' ? result.reason.code : 'read'))
    expect(codes).toEqual([...Array(3).fill('partitions_changed'), 'read', 'read'])
    expect(results[3]).toMatchObject({ value: { current: new Map() } })
  })

  test('fails if the readers were opened before: they still place users by the old number', async () => {
    await expect(compared(kept(5, member), 5, 3)).rejects.toMatchObject({ code: 'partitions_changed' })
  })

  test('succeeds if nobody was a member yet', async () => {
    const results = await compared(
      kept(3, () => null),
      5,
    )
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['fulfilled']))
  })

  test('finds every member while the number stays', async () => {
    const results = await compared(kept(3, member), 3)
    const found = results.flatMap((result) =>
      result.status === 'fulfilled' ? [...result.value.current.keys()] : [],
    )
    expect(found.toSorted()).toEqual(users.toSorted())
  })
})

test.each([
  [{ low: 2, high: 9 }, 'is whole'],
  [{ low: 3, high: 9 }, 'upload_lost'],
  [{ low: 2, high: 8 }, 'upload_lost'],
])('an upload from 2 to 9 in a topic that has %o %s', async (inTopic, expected) => {
  const reader = { partitions: 1, bounds: async () => new Map([[0, inTopic]]), read: async () => {} }
  const sync = aSync({ ranges: [{ partition: 0, from: 2, to: 9 }] })
  const opened = await openComparison(sync, undefined, { readerOf: async () => reader }).then(
    () => 'is whole',
    ({ code }) => code,
  )
  expect(opened).toBe(expected)
})
