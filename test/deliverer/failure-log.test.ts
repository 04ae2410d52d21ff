import { expect, test } from 'vitest'
import type { Settlement } from '../../deliverer/decide.ts'
import { createDeliveryFailureLog } from '../../deliverer/failure-log.ts'
import { createWebhooks } from '../../delivery/webhooks.ts'
import { aDelivery } from '../helpers/events.ts'

const failed = {
  attempt: 1,
  urlIndex: 0,
  startedAt: 0,
  durationMs: 5,
  outcome: 'retry',
  status: 503,
  code: 'http_5xx',
}
const delivery = aDelivery({ attempt: 1, history: [failed] })
const rung = { name: '5s', delayMs: 5_000 }
const retry: Settlement = { kind: 'retry', rung, dueAt: 0, delivery }

function aLog() {
  const lines: [level: string, fields: object][] = []
  const log = {
    info: (fields: object) => void lines.push(['info', fields]),
    warn: (fields: object) => void lines.push(['warn', fields]),
  }
  return { lines, ...createDeliveryFailureLog(log as never) }
}

test('a failing destination is logged once in ten seconds, with the codes of its last attempt', () => {
  const { lines, ofDelivery } = aLog()
  ofDelivery(retry, aDelivery())
  ofDelivery(retry, aDelivery())
  ofDelivery(retry, aDelivery({ destinationId: 'other' }))
  expect(lines).toMatchObject([
    ['warn', { attempt: 1, codes: ['http_5xx'], next: '5s' }],
    ['warn', { destinationId: 'other' }],
  ])
})

test('dead deliveries, and those that missed a webhook, are logged once in ten seconds for each destination and reason', () => {
  const { lines, ofDelivery } = aLog()
  const missed = [{ urlIndex: 1, url: '', webhook: '', origin: '' }]
  for (let each = 0; each < 1_500; each++) {
    ofDelivery({ kind: 'dead', reason: 'window_expired', delivery }, aDelivery())
    ofDelivery({ kind: 'dead', reason: 'rejected', delivery }, aDelivery())
    ofDelivery({ kind: 'done', missed }, aDelivery())
  }
  ofDelivery({ kind: 'dead', reason: 'rejected', delivery }, aDelivery({ destinationId: 'other' }))
  ofDelivery({ kind: 'done' }, aDelivery())
  expect(lines).toMatchObject([
    ['warn', { reason: 'window_expired', codes: ['http_5xx'] }],
    ['warn', { reason: 'rejected' }],
    ['warn', { urlIndexes: [1] }],
    ['warn', { destinationId: 'other', reason: 'rejected' }],
  ])
})

test('a breaker is logged with only the origin of its webhook', () => {
  const { lines, ofBreaker } = aLog()
  const webhooks = createWebhooks()
  webhooks.onChange(ofBreaker)
  const target = { webhook: 'crm 0 http://one.example/secret', origin: 'http://one.example' }
  const webhook = webhooks.of(target, 0)
  webhooks.open(webhook, 0)
  webhooks.ended(webhook, 'answered', { sent: true, now: 1 })
  const fields = { destinationId: 'crm', urlIndex: 0, origin: 'http://one.example' }
  expect(lines).toEqual([
    ['warn', fields],
    ['info', fields],
  ])
})
