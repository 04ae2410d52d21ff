import { expect, test } from 'vitest'
import { signaturesAfter, signaturesOf } from '../../console/src/views/destinations/signatures.ts'
import { request } from '../../delivery/request.ts'
import { aDelivery, aDestination } from '../helpers/events.ts'

const now = Date.UTC(2026, 0, 2, 3, 4, 5)
const until = '2026-01-03T00:00:00.000Z'
const rotating = { sharedSecret: 'new', previousSecret: 'old', previousSecretExpiresAt: until }

/** Headers with signatures, and how many each has. */
function sentWith(fields: object, at: number): string[] {
  const { headers } = request(aDelivery(), {
    ...{ destination: aDestination(fields), urlIndex: 0, attempt: 1, now: at },
  })
  return Object.entries(headers)
    .filter(([name]) => /signature/i.test(name))
    .flatMap(([name, value]) => value.split(' ').map(() => name))
}

test.each([
  [{}],
  [{ sharedSecret: 's' }],
  [{ sharedSecret: 's', standardWebhooks: true }],
  [rotating],
  [{ ...rotating, standardWebhooks: true }],
])('of %j, each signature that is sent is listed, before and after the rotation ends', (fields) => {
  for (const at of [now, Date.parse(until)])
    expect(signaturesOf(fields, at).map(({ header }) => header.replace(/,.*/, ''))).toEqual(
      sentWith(fields, at),
    )
})

test('only the previous secret has an end', () => {
  expect(signaturesOf({ ...rotating, standardWebhooks: true }, now)).toMatchObject([
    { header: 'X-Signature', secret: 'Current secret', until: undefined },
    { header: 'X-Signature-Previous', secret: 'Previous secret', until },
    { header: 'webhook-signature, first', secret: 'Current secret', until: undefined },
    { header: 'webhook-signature, second', secret: 'Previous secret', until },
  ])
})

test('after a replacement the current secret is the previous one, until the end of the overlap', () => {
  expect(signaturesAfter({}, until, now)).toMatchObject([
    { header: 'X-Signature', secret: 'New secret', until: undefined },
    { header: 'X-Signature-Previous', secret: 'Current secret', until },
  ])
  expect(signaturesAfter({ standardWebhooks: true }, undefined, now)).toMatchObject([
    { header: 'X-Signature', secret: 'New secret', until: undefined },
    { header: 'webhook-signature', secret: 'New secret', until: undefined },
  ])
})
