import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { exceptions, judge } from '../../.ci/audit.ts'

const advisory = (id: string, name: string) => ({
  source: 1,
  name,
  dependency: name,
  title: 'Something is wrong',
  url: `https://github.com/advisories/${id}`,
  severity: 'low',
  range: '<2.0.0',
})
const [first, second] = ['GHSA-aaaa-bbbb-cccc', 'GHSA-dddd-eeee-ffff']
const reported = JSON.stringify({
  auditReportVersion: 2,
  vulnerabilities: {
    one: {
      name: 'one',
      severity: 'low',
      via: [advisory(first, 'one'), advisory(second, 'one')],
      effects: ['two'],
    },
    two: { name: 'two', severity: 'low', via: ['one'], effects: [] },
  },
  metadata: {},
})
const none = JSON.stringify({ auditReportVersion: 2, vulnerabilities: {}, metadata: {} })
const excepting = (...ids: string[]) => ({
  exceptions: ids.map((id) => ({ advisory: id, reason: 'the faulty function is never called here' })),
})

test('each advisory is a fault, once, unless it is excepted', () => {
  expect(judge(reported, excepting()).faults).toEqual([
    `${first}: one, low: Something is wrong`,
    `${second}: one, low: Something is wrong`,
  ])
  expect(judge(reported, excepting(second))).toEqual({
    faults: [`${first}: one, low: Something is wrong`],
    warnings: [],
  })
  expect(judge(none, excepting())).toEqual({ faults: [], warnings: [] })
})

test('an exception that is not needed any more is a warning', () => {
  expect(judge(none, excepting(first))).toEqual({ faults: [], warnings: [expect.stringContaining(first)] })
})

test.each([
  ['{"message":"405 Method Not Allowed","statusCode":405}', '405 Method Not Allowed'],
  ['', 'it printed nothing'],
  ['<html>', 'Invalid input'],
  ['{"auditReportVersion":3,"vulnerabilities":{}}', 'Invalid input'],
])('a registry that does not answer is a warning: %s', (output, why) => {
  const { faults, warnings } = judge(output, excepting())
  expect([faults, warnings]).toEqual([[], [expect.stringContaining(why)]])
})

test('the exceptions of this repository have advisories and reasons', async () => {
  const file = JSON.parse(await readFile('.ci/audit-exceptions.json', 'utf8'))
  expect(() => exceptions.parse(file)).not.toThrow()
  expect(() => exceptions.parse({ exceptions: [{ advisory: first, reason: 'no' }] })).toThrow()
})
