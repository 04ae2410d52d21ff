import { expect, test } from 'vitest'
import { run } from '../../cli/run.ts'
import type { Unreadable } from '../../settings/state.ts'
import { crm, shop } from '../control/in-memory.ts'
import { aLagItem, lagHeld } from '../control/lag-in-memory.ts'
import { control, NOW, operatorOf } from './in-memory.ts'

const broken: Unreadable = {
  kind: 'destination',
  id: 'crm',
  reason: 'it is not\na JSON object',
  since: NOW - 7_200_000,
  isKept: true,
}

async function sluice(memory: ReturnType<typeof control>, args: string, input = '') {
  const context = { ...(await operatorOf(memory)), readInput: async () => input }
  const code = await run(args.split(' '), context)
  return {
    code,
    out: context.out.said,
    err: context.err.said,
    url: Object.values(context.env).find((value) => value.startsWith('http')),
  }
}
const stalled = () =>
  lagHeld([aLagItem({ status: 'stall', lag: 135, lagSeconds: 45 })], {
    latest: () => ({
      at: NOW,
      items: [aLagItem({ status: 'stall', lag: 135, lagSeconds: 45 })],
      ends: [],
      missing: [],
    }),
  })

test('without problems says so, and exits with 0', async () => {
  expect(await sluice(control(), 'status')).toMatchObject({
    code: 0,
    out: ['OK: nothing is wrong.'],
    err: [],
  })
  const { code, out } = await sluice(control(), 'status --json')
  expect([code, JSON.parse(out.join('\n'))]).toMatchObject([0, { state: 'ok', problems: [] }])
})

test('says what is wrong, since when, what to do and where to look, and exits with 2', async () => {
  const { code, out, url } = await sluice(control({ unreadable: [broken] }, stalled()), 'status')
  expect(code).toBe(2)
  expect(out).toEqual([
    expect.stringMatching(/^error: group_stalled since \d{4}-\d\d-\d\dT[\d:.]+Z \(\d+ (s|min|h|days)\)$/),
    '    Consumer group router makes no progress in any of its partitions: 135 records wait, the oldest for 45 s. Accepted events are not forwarded.',
    '    Read the log of the router, and check Kafka and the schema registry. If the process hangs, restart it.',
    `    See ${url}/lag and ops/runbook.md#sluicenothingconsumes`,
    'warning: setting_unreadable since 2026-01-02T01:04:05.678Z (2 h)',
    '    The settings of destination crm cannot be read: it is not\\na JSON object. Sluice uses its previous version.',
    '    Save it again, or delete it.',
    `    See ${url}/destinations/crm and ops/runbook.md#sluicesettingunreadable`,
  ])
  const json = await sluice(control({}, stalled()), 'status --json')
  expect(json.code).toBe(2)
  expect(JSON.parse(json.out.join('\n'))).toMatchObject({
    state: 'error',
    problems: [{ code: 'group_stalled' }],
  })
})

test('exits with 1 if control cannot be asked', async () => {
  const { code, err } = await sluice(control(), 'status --url http://127.0.0.1:1')
  expect([code, err.join()]).toEqual([1, expect.stringContaining('does not answer')])
})

const FILE =
  'destinations: [{ id: crm, name: CRM, sourceIds: [shop], webhooks: [{ url: "https://crm.example/hook", headers: { X-Team: "***" } }], sharedSecret: "***" }]'

test('diff and export name settings that control cannot read; apply writes them again', async () => {
  const memory = control({ sources: [shop], destinations: [crm], unreadable: [broken] })
  const note = [
    'Settings that control cannot read:',
    '    The settings of destination crm cannot be read: it is not\\na JSON object. Sluice uses its previous version.',
  ]
  expect(await sluice(memory, 'diff -', 'sources: [{ id: shop, name: Shop }]')).toMatchObject({
    code: 0,
    out: ['Nothing differs.', ...note],
  })
  expect((await sluice(memory, 'export')).err).toEqual([
    'The settings of destination crm cannot be read: it is not\\na JSON object. Sluice uses its previous version. That version is exported.',
  ])
  expect(await sluice(memory, 'diff -', FILE)).toMatchObject({
    code: 2,
    out: ['~ destinations/crm', '    (written again, because its record cannot be read)', ...note],
  })
  expect(await sluice(memory, 'apply -', FILE)).toMatchObject({ code: 0 })
  expect(memory.settings.unreadable.size).toBe(0)
  expect(memory.settings.destinations.get('crm')).toMatchObject({ sharedSecret: 'shared-secret', version: 3 })
  expect(await sluice(memory, 'diff -', FILE)).toMatchObject({ code: 0, out: ['Nothing differs.'] })
})

test('an unreadable setting without a previous version is created again by apply', async () => {
  const memory = control({ sources: [shop], unreadable: [{ ...broken, id: 'lost', isKept: false }] })
  const file = 'destinations: [{ id: lost, name: Lost, webhooks: [{ url: "https://crm.example/hook" }] }]'
  const { out } = await sluice(memory, 'apply --json -', file)
  expect(JSON.parse(out.join('\n'))).toMatchObject({
    unreadable: [{ kind: 'destination', id: 'lost', isKept: false }],
    applied: [{ collection: 'destinations', id: 'lost' }],
  })
  expect(memory.settings.unreadable.size).toBe(0)
})
