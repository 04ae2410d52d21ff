import { expect, test } from 'vitest'
import { report } from '../../torture/report.ts'

const nothing = {
  accepted: [],
  unrouted: [],
  unsettled: [],
  unreported: [],
  strangeIds: [],
  unaccepted: [],
  unwanted: [],
  unredacted: [],
}
const sums = {
  accepted: 6,
  events: 6,
  routed: 18,
  delivered: 11,
  dead: 0,
  cancelled: 0,
  again: 0,
  most: 1,
  mistaken: 0,
  rewritten: 0,
  excused: 0,
  unwitnessed: { events: 0, deliveries: 0, retries: 0 },
  cut: { events: 4, deliveries: 0, retries: 0 },
  reported: { events: 3, deliveries: 0, retries: 0 },
}
const run = {
  seed: 1,
  minutes: 10,
  clients: 60,
  struck: new Map(),
  clocks: true,
  notices: { notices: 0, seen: 0, repeated: 0, missing: { unannounced: [], again: [] } },
  settledMs: 1_400,
  deaths: 0,
}

test('what is missing is counted by destination, all of it, and the first are named', () => {
  const crm = ['m1', 'm2', 'm3', 'm4', 'm5', 'm6'].map((id) => `crm ${id}`)
  const missing = { ...nothing, accepted: ['m7'], unsettled: [...crm, 'mail m1'] }
  const text = report({ ...run, result: { ...sums, missing } })
  expect(text).toContain('**7**: crm 6; mail 1; as crm m1, crm m2, crm m3, crm m4, crm m5 |')
  expect(text).toContain('**1**: as m7 |')
})

test('a run in which no clock could be stepped says so', () => {
  const result = { ...sums, missing: nothing }
  const struck = new Map([['kill', 3]])
  expect(report({ ...run, result, struck, clocks: false })).toContain(
    '(kill 3, clocks unchanged: libfaketime was not found).',
  )
  expect(report({ ...run, result, struck })).not.toContain('was not found')
})

test('a run whose records were not all settled in time does not claim so', () => {
  const result = { ...sums, missing: nothing }
  expect(report({ ...run, result })).toContain('| all settled after the last fault | 1 s |')
  expect(report({ ...run, result, settledMs: undefined })).toContain(
    '| all settled after the last fault | no |',
  )
})
