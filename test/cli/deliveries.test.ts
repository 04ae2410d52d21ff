import { expect, test } from 'vitest'
import { run } from '../../cli/run.ts'
import { listedOf } from '../../control/activity/deliveries/listed.ts'
import type { DeliverySearch } from '../../control/activity/deliveries/search.ts'
import { anAttempt, attemptsHeld } from '../control/attempts-in-memory.ts'
import { crm, shop } from '../control/in-memory.ts'
import { aDelivery } from '../helpers/events.ts'
import { control, operatorOf } from './in-memory.ts'

const routedAt = Date.now() - 60_000
const made = (deliveryId: string) =>
  aDelivery({
    deliveryId,
    routedAt,
    body: '{"version":1,"type":"track","userId":"u1","event":"Paid\\u0007"}',
  })
const listed = (deliveryId: string, offset: number) =>
  listedOf(made(deliveryId), 'crm/u1', { routed: true, partition: 3, offset })

/** Two on each page. */
function searching(ids: readonly string[], isEndless = false) {
  const asked: object[] = []
  const deliveries: DeliverySearch = {
    async search(query, { select }) {
      asked.push(query)
      const start = query.cursor?.offset ?? 0
      const all = ids.map(listed).slice(start, start + Math.min(2, query.limit))
      const selected = await select?.(all)
      const isLast = !isEndless && start + all.length >= ids.length
      return {
        items: all.filter((each) => selected?.has(each) ?? true),
        next: isLast ? null : `0.0.${start + all.length}`,
        searchedSince: routedAt,
      }
    },
    unsettled: async () => new Set(),
    read: async (entry) => ({ listed: listedOf(made('a'), 'crm/u1', entry), delivery: made('a') }),
  }
  const held = attemptsHeld([
    anAttempt({ deliveryId: 'older', startedAt: routedAt - 60_000 }),
    anAttempt({ deliveryId: 'a', startedAt: routedAt, outcome: 'rejected', status: 404, code: 'http_404' }),
  ])
  const operated = control(
    { sources: [shop], destinations: [crm] },
    { ...held, deliveries, trace: async () => new Map() },
  )
  return { made: operated, asked }
}

async function said(found: ReturnType<typeof searching>, ...args: string[]) {
  const context = await operatorOf(found.made)
  expect([await run(['deliveries', ...args], context), context.err.text()]).toEqual([0, ''])
  return context.out.text()
}

test('deliveries have one line each, with what is untrusted escaped', async () => {
  const lines = (await said(searching(['a', 'b']))).split('\n').map((line) => line.split(/ {2,}/))
  expect(lines).toMatchObject([
    ['made', 'destination', 'event', 'user', 'state', 'attempts', 'last', 'next attempt', 'id'],
    [expect.any(String), 'crm', 'Paid\\u0007', 'u1', 'rejected', '1', 'http_404', '-', 'd3-0'],
    [expect.any(String), 'crm', 'Paid\\u0007', 'u1', 'waiting', '0', '-', '-', 'd3-1'],
  ])
})

test('pages are read up to the limit, and the cursor continues', async () => {
  const found = searching(['a', 'b', 'c', 'd'])
  const out = await said(found, '--limit', '3', '--destination', 'crm')
  expect(out).toContain('d3-2')
  expect(out).not.toContain('d3-3')
  expect(out).toContain(`Searched back to ${new Date(routedAt).toISOString()}. Continue with --cursor 0.0.3`)
  expect(found.asked).toMatchObject([{ limit: 3, destinationId: 'crm' }, { limit: 1 }])
  expect(await said(found, '--cursor', '0.0.3')).toContain('d3-3')
})

test('a search for something rare ends, and says how to continue', async () => {
  const found = searching(['b'], true)
  const out = await said(found, '--state', 'rejected')
  expect(found.asked).toHaveLength(10)
  expect(out).toMatch(/^No such delivery\.\nSearched back to .* Continue with --cursor /)
})

test('as JSON, the answer has the items, the cursor and what was left out', async () => {
  const { items, ...rest } = JSON.parse(await said(searching(['a']), '--json', '--status', '4xx'))
  expect(items).toMatchObject([{ id: 'd3-0', state: 'rejected' }])
  expect(rest).toEqual({ next: null, searchedSince: new Date(routedAt).toISOString(), unknown: 0 })
})

test('one delivery is shown with its attempts, request and body', async () => {
  const out = await said(searching([]), 'd3-1042')
  expect(out).toContain('of u1 to crm: rejected')
  expect(out).toContain('http_404')
  expect(out).toContain('POST https://crm.example/hook\n')
  expect(out).toContain('X-Team: ***\n')
  expect(out).toContain('{"version":1,"type":"track"')
  expect(JSON.parse(await said(searching([]), 'd3-1042', '--json'))).toMatchObject({ id: 'd3-1042' })
})
