import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { run } from '../../cli/run.ts'
import type { Poster } from '../../delivery/post/post.ts'
import type { Destination } from '../../settings/settings.ts'
import { aDestination } from '../helpers/events.ts'
import { temporaryFolder } from '../local/folders.ts'
import { control, operatorOf } from './in-memory.ts'

const openPoster = (): Poster => ({
  post(_, listener) {
    listener.onOutcome({ outcome: 'delivered', status: 200 }, 7, true)
    listener.onEnd('thanks')
  },
  close: async () => undefined,
})

async function sent(rules: NonNullable<Destination['rules']>) {
  const context = await operatorOf(control({ destinations: [aDestination({ rules })] }, { openPoster }))
  const code = await run(['test', 'crm'], context)
  return { code, out: context.out.text(), err: context.err.text() }
}

test('a test says nothing about rules that let the sample pass', async () => {
  expect(await sent({ filter: { path: 'event', eq: 'Test Event' } })).toMatchObject({ code: 0, err: '' })
})

test('a test that the rules would filter out is sent, and says so', async () => {
  const { code, out, err } = await sent({ filter: { path: 'event', eq: 'Paid' } })
  expect([code, out]).toEqual([0, expect.stringContaining('delivered')])
  expect(err).toContain('filter out a real event like this (/filter)')
  expect((await sent({ sample: { rate: 0 } })).err).toContain(
    'leave a real event like this out of the sample',
  )
})

test('a test is not sent if the rules fail', async () => {
  const shape = Object.fromEntries(Array.from({ length: 3 }, (_, each) => [`k${each}`, 'x'.repeat(100_000)]))
  const { code, err } = await sent({ shape })
  expect([code, err]).toEqual([1, expect.stringContaining('Not sent: the body would be larger than 256 KB')])
})

test('a call may begin with a byte order mark, which some editors write', async () => {
  const context = await operatorOf(control({ destinations: [aDestination()] }, { openPoster }))
  const file = join(await temporaryFolder(), 'call.json')
  await writeFile(file, '\uFEFF{"type": "track", "userId": "u1", "event": "Paid"}')
  expect(await run(['test', 'crm', '--call', file], context)).toBe(0)
})
