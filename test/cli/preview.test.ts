import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { run } from '../../cli/run.ts'
import type { PreviewRequest } from '../../control/activity/preview/preview.ts'
import { shop } from '../control/in-memory.ts'
import { aDestination, anEvent } from '../helpers/events.ts'
import { temporaryFolder } from '../local/folders.ts'
import { control, operatorOf } from './in-memory.ts'

const rules = { filter: { path: 'event', eq: 'Paid' } }
const stored = aDestination({ id: 'crm', rules, sourceIds: ['shop'] })
const receivedAt = Date.parse('2026-01-02T03:04:05.678Z')
const events = [
  anEvent({ messageId: 'm1', event: 'Paid', receivedAt }),
  anEvent({ messageId: 'm2', event: 'Left', receivedAt }),
]

/** `files`: YAML in place of their names. */
async function preview(
  args: string,
  files: Record<string, string> = {},
  env: Record<string, string> = {},
  found = { items: events, searchedSince: receivedAt as number | null },
) {
  const asked: PreviewRequest[] = []
  const memory = control(
    { sources: [shop], destinations: [stored, aDestination({ id: 'plain' })] },
    {
      latestEvents: {
        async latest(request) {
          asked.push(request as PreviewRequest)
          return { ...found, next: null }
        },
      },
    },
  )
  const folder = await temporaryFolder()
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const context = await operatorOf(memory, env)
  const words = args
    .split(' ')
    .filter(Boolean)
    .map((word) => (word in files ? join(folder, word) : word))
  const code = await run(['preview', ...words], context)
  return { code, asked, out: context.out.text(), err: context.err.text() }
}

const file = (...destinations: object[]) => JSON.stringify({ destinations })
const partner = {
  id: 'partner',
  name: 'Partner',
  sourceIds: ['shop'],
  webhooks: [{ url: 'https://partner.example/hook' }],
}

test("shows what a destination's stored rules do with recent events", async () => {
  const { code, asked, out } = await preview('--destination crm --last 7')
  expect([code, asked]).toMatchObject([0, [{ last: 7, sourceIds: ['shop'], destinationId: 'crm' }]])
  expect(out.split('\n')).toEqual([
    '2026-01-02T03:04:05.678Z  track  Paid  message m1  sent',
    expect.stringMatching(/^ {2}\{"version":1,"type":"track","userId":"u1","event":"Paid"/),
    '2026-01-02T03:04:05.678Z  track  Left  message m2  filtered by /filter',
    '',
    '2 events: 1 sent, 1 filtered.',
  ])
})

test('tries the rules in a file before they are applied, and hides the values of variables', async () => {
  const shape = { key: '${PARTNER_KEY}', event: '{{event}}' }
  const files = { 'one.yaml': file({ ...partner, rules: { shape } }) }
  const { code, asked, out } = await preview('one.yaml', files, { PARTNER_KEY: 'a-secret-key' })
  expect([code, asked[0]?.destinationId]).toEqual([0, undefined])
  expect(out).toContain('{"key":"***","event":"Paid"}')
  expect(out).not.toContain('a-secret-key')
})

test.each([
  [{ items: events.slice(0, 1), searchedSince: null }, '1 event: 1 sent.'],
  [{ items: [], searchedSince: null }, 'The sources have no events yet.'],
  [{ items: [], searchedSince: receivedAt }, 'No events since 2026-01-02T03:04:05.678Z.'],
])('says how many events there are: %#', async (found, text) => {
  const { out } = await preview('--destination crm', {}, {}, found)
  expect(out.split('\n').at(-1)).toBe(text)
})

test('names every fault of the rules in a file, with its place', async () => {
  const faulty = {
    filter: { path: 'evnet', eq: 1 },
    redact: [{ path: 'userId', as: 'hsah' }],
    shape: ['{{a}}'],
  }
  const { code, asked, err } = await preview('one.yaml', {
    'one.yaml': file({ ...partner, rules: faulty }),
  })
  expect([code, asked]).toEqual([1, []])
  for (const place of ['rules/filter/path', 'rules/redact/0/as', 'rules/shape/0'])
    expect(err).toMatch(new RegExp(`one.yaml:1:\\d+: destinations/partner ${place}: `))
  expect(err).toContain('3 faults.')
})

test('prints one JSON document', async () => {
  const { out } = await preview('--destination crm --json')
  expect(JSON.parse(out).items).toMatchObject([
    { outcome: 'sent' },
    { outcome: 'filtered', condition: '/filter' },
  ])
})

test.each([
  ['', {}, 'Name files with a destination'],
  ['--destination gone', {}, 'There is no destination gone'],
  ['--destination plain', {}, 'Destination plain has no rules'],
  [
    'two.yaml',
    { 'two.yaml': file({ ...partner, rules }, { ...partner, id: 'other', rules }) },
    'partner, other',
  ],
  ['partner', {}, 'For a destination, use --destination partner'],
  ['none.yaml', { 'none.yaml': file() }, 'They contain: none'],
  ['bad.yaml', { 'bad.yaml': file({ ...partner, colour: 1 }) }, 'unknown_field'],
  [
    'wrong.yaml',
    { 'wrong.yaml': file({ ...partner, rules: { filter: { path: 'x', eq: 1 } } }) },
    'rules/filter/path',
  ],
])('%s is refused: %s', async (args, files, text) => {
  const { code, err } = await preview(args, files)
  expect(code).toBe(1)
  expect(err).toContain(text)
})
