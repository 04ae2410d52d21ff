import { expect, test } from 'vitest'
import { run } from '../../cli/run.ts'
import { crm, shop } from '../control/in-memory.ts'
import { control, operatorOf } from './in-memory.ts'

async function pausing(more: { enabled?: boolean } = {}) {
  const memory = control({ sources: [shop], destinations: [{ ...crm, ...more }] })
  const context = await operatorOf(memory)
  const destination = () => memory.settings.destinations.get('crm')
  return { context, destination, ran: (...args: string[]) => run(args, context) }
}

test('a destination is paused and resumed, and keeps its other settings', async () => {
  const { context, destination, ran } = await pausing()
  const before = destination()
  expect(await ran('pause', 'crm')).toBe(0)
  expect(destination()).toMatchObject({ enabled: true, paused: true, webhooks: before?.webhooks })
  expect(await ran('resume', 'crm', '--json')).toBe(0)
  const { version: _, updatedAt: __, ...after } = destination() ?? { version: 0, updatedAt: '' }
  expect(before).toMatchObject(after)
  expect(context.out.said).toEqual([
    'crm is paused. To send the held deliveries: sluice resume crm',
    expect.stringMatching(/^\{.*"id":"crm"/),
  ])
})

test('a second pause or resume changes nothing', async () => {
  const { context, destination, ran } = await pausing()
  await ran('resume', 'crm')
  await ran('pause', 'crm')
  const { version } = destination() ?? {}
  expect(await ran('pause', 'crm')).toBe(0)
  expect([destination()?.version, context.out.said[0]]).toEqual([version, 'crm was not paused.'])
})

test('a destination that is off cannot be paused, because its deliveries are cancelled', async () => {
  const { context, destination, ran } = await pausing({ enabled: false })
  expect(await ran('pause', 'crm')).toBe(1)
  expect(context.err.text()).toContain('is off')
  expect(destination()).not.toHaveProperty('paused')
})
