import { expect, test } from 'vitest'
import { contentOf, type Editor, editorOf, toForm, toJson } from '../../console/src/views/rules/editor.ts'
import { namesIn, sortedByOutcome, summaryOf } from '../../console/src/views/rules/preview/summary.ts'
import { rulesFaults } from '../../rules/faults.ts'
import { rulesShape } from '../../rules/rules.ts'

const RULES = { filter: { path: 'event', in: ['Paid'] }, redact: [{ path: 'context.ip', as: 'drop' }] }
const json = (text: string): Editor => ({ mode: 'json', text })

test('rules open in the form if it can show them, and otherwise as JSON', () => {
  expect(editorOf(RULES).mode).toBe('form')
  expect(editorOf(undefined).mode).toBe('form')
  expect(editorOf({ ...RULES, later: 1 })).toEqual(json(JSON.stringify({ ...RULES, later: 1 }, null, 2)))
})

test('the form becomes JSON, and JSON becomes the form', () => {
  const asJson = toJson(editorOf(RULES))
  expect(asJson).toEqual(json(JSON.stringify(RULES, null, 2)))
  expect(contentOf(toForm(asJson) ?? asJson).rules).toEqual(RULES)
  expect(toJson(editorOf(undefined))).toEqual(json(''))
})

test.each(['{', '5', 'null', '[]', '{"filters": {}}'])('%s does not become a form', (text) => {
  expect(toForm(json(text))).toBeUndefined()
})

test('empty text means no rules, and text that is not JSON is a fault', () => {
  expect(contentOf(json(' '))).toEqual({ rules: undefined, faults: [], unreadable: [] })
  expect(contentOf(json('{')).unreadable).toMatchObject([{ pointer: '/rules', code: 'invalid_format' }])
})

test('an incomplete row prevents saving, but not the preview', () => {
  const editor = editorOf(RULES)
  if (editor.mode !== 'form') throw new Error('expected a form')
  const redact = [...editor.draft.redact, { key: -1, path: '', as: 'hash' as const }]
  const content = contentOf({ ...editor, draft: { ...editor.draft, redact } })
  expect(content).toMatchObject({ rules: RULES, faults: [{ code: 'required' }], unreadable: [] })
})

test('the API accepts what the form writes', () => {
  const filter = {
    all: [
      RULES.filter,
      {
        any: [
          { path: 'traits.vip', eq: true },
          { path: 'userId', exists: true },
        ],
      },
    ],
  }
  const written = contentOf(
    editorOf({ ...RULES, filter, sample: { rate: 0.1, by: 'event' }, shape: { text: '{{event}}' } }),
  ).rules
  expect(rulesFaults(rulesShape.parse(written), ['rules'])).toEqual([])
})

const items = (...outcomes: ('sent' | 'filtered' | 'sampled_out' | 'failed')[]) =>
  outcomes.map((outcome) => ({ outcome }))

test.each([
  [items(), 'The sources have no events yet.'],
  [items('sent', 'sent'), 'Sends 2 of 2 events.'],
  [items('sent', 'filtered', 'filtered', 'failed'), 'Sends 1 of 4 events: 2 filtered, 1 failed.'],
  [items('sampled_out'), 'Sends 0 of 1 event: 1 not in the sample.'],
])('%j: %s', (given, summary) => {
  expect(summaryOf(given)).toBe(summary)
})

test('failed events come first, then sent ones', () => {
  expect(sortedByOutcome(items('filtered', 'sent', 'sampled_out', 'failed'))).toEqual(
    items('failed', 'sent', 'filtered', 'sampled_out'),
  )
})

test('the most frequent event names are offered first', () => {
  const names = ['Viewed', 'Paid', 'Viewed', null].map((event) => ({ event }))
  expect(namesIn(names)).toEqual(['Viewed', 'Paid'])
})
