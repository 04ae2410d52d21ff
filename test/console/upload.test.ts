import { expect, test } from 'vitest'
import {
  consentTo,
  formatOf,
  latestSync,
  looksLikeFields,
  requiredBy,
  summaryOf,
  uploadStatus,
  withLatest,
} from '../../console/src/views/computations/upload-rules.ts'

const preview: Parameters<typeof summaryOf>[1] = {
  lines: 2,
  changed: 2,
  removed: 998,
  unchanged: 0,
  suppressed: 0,
  current: 1_000,
  invalid: 3,
  invalidLines: [],
  confirm: 'allowRemovals',
}

test.each([
  ['audiences', 'u1\nu2', undefined, 'lines'],
  ['audiences', '', undefined, 'lines'],
  ['audiences', '\n\n{"userId": "u1"}\n', undefined, 'ndjson'],
  ['audiences', '"u1"\r\n"u2"', 'members.txt', 'ndjson'],
  ['audiences', '\ufeffuserId\nu1', undefined, 'csv'],
  ['audiences', '"plan","user_id"\npro,u1', 'members.txt', 'csv'],
  ['audiences', 'userId;e-mail\nu1;a@b.example', undefined, 'csv'],
  ['audiences', 'plan\tUser_Id\nu1', 'members.txt', 'csv'],
  ['audiences', 'u1;a@b.example\nuserId;plan', undefined, 'lines'],
  ['audiences', 'id\nu1', 'members.CSV', 'csv'],
  ['audiences', 'id\tplan\nu1', 'members.tsv', 'csv'],
  ['audiences', 'a userId\nu1', undefined, 'lines'],
  ['traits', '{"userId": "u1", "value": 1}', undefined, 'ndjson'],
  ['traits', 'userId,value\nu1,1', undefined, 'csv'],
  ['traits', 'userId;value\nu1;1', undefined, 'csv'],
  ['traits', 'u1', undefined, 'ndjson'],
] as const)('an upload to %s that begins with %j in %s is read as %s', (kind, start, name, format) => {
  expect(formatOf(kind, start, name)).toBe(format)
})

test.each([
  ['lines', '\ufeff\nu1;a@b.example\n', true],
  ['lines', 'u1,a@b.example', true],
  ['lines', 'u1\nu2;a@b.example', false],
  ['csv', 'userId;plan\nu1;pro', false],
  ['ndjson', '{"userId":"u1","plan":"pro"}', false],
] as const)('an upload read as %s that begins with %j looks like several fields: %s', (format, start, is) => {
  expect(looksLikeFields(format, start)).toBe(is)
})

test.each([
  [true, undefined, null, 'Uploading…'],
  [false, 'done', null, 'Uploaded'],
  [false, 'accepted', null, 'Upload accepted'],
  [false, 'failed', null, 'The upload failed'],
  [false, undefined, new Error('no answer'), 'The upload had an error'],
] as const)('an upload whose dialog is closed (pending: %s, sync: %s, error: %s) is “%s”', (...given) => {
  const [isPending, state, error, status] = given
  const data = state && { id: 's1', state, createdAt: '2026-01-02T03:04:05.678Z', lines: 2 }
  expect(uploadStatus({ isPending, data, error })).toBe(status)
})

test('a preview says what would change, and what must be confirmed', () => {
  expect(summaryOf('audiences', preview)).toBe('Adds 2, removes 998, 3 lines cannot be used')
  expect(requiredBy(preview).map((each) => consentTo(each, preview))).toEqual([
    'Leave out the 3 lines that cannot be used',
    'Remove 998 of 1,000, which is more than a tenth',
  ])
  expect(summaryOf('traits', { ...preview, invalid: 0 })).toBe('Sets 2, removes 998')
  expect(requiredBy({ ...preview, invalid: 0, confirm: null })).toEqual([])
})

const sync = (fields: object) => ({
  ...{ id: 's1', state: 'accepted' as const, createdAt: '2026-01-02T03:04:05.000Z', lines: 2 },
  ...fields,
})

test('the latest sync is not one of another audience, or of an earlier audience with the same id', () => {
  const syncs = [
    sync({ id: 's4', audienceId: 'other' }),
    sync({ id: 's3', traitId: 'vip' }),
    sync({ id: 's2', audienceId: 'vip' }),
    sync({ audienceId: 'vip' }),
  ]
  const created = { id: 'vip', createdAt: '2026-01-01T00:00:00.000Z' }
  expect(latestSync(syncs, { kind: 'audiences', ...created })?.id).toBe('s2')
  expect(latestSync(syncs, { kind: 'traits', ...created })?.id).toBe('s3')
  const createdAgain = { ...created, createdAt: '2026-01-03T00:00:00.000Z' }
  expect(latestSync(syncs, { kind: 'audiences', ...createdAgain })).toBeUndefined()
})

test('an accepted upload shows the outcome of its own sync, not of another one', () => {
  const upload = { isPending: false, data: sync({}), error: null }
  const done = sync({ state: 'done', changed: 2, removed: 0 })
  expect(uploadStatus(withLatest(upload, undefined))).toBe('Upload accepted')
  expect(uploadStatus(withLatest(upload, done))).toBe('Uploaded')
  expect(uploadStatus(withLatest(upload, { ...done, id: 's2' }))).toBe('Upload accepted')
})
