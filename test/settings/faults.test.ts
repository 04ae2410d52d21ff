import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pointer } from '../../process/json-pointer.ts'
import { faultsOf } from '../../settings/faults.ts'
import { destinationShape, sourceShape } from '../../settings/settings.ts'

const good = { name: 'CRM', webhooks: [{ url: 'https://crm.example' }] }

function told(shape: typeof destinationShape | typeof sourceShape, body: unknown): string[] {
  const { error } = shape.safeParse(body, { reportInput: true })
  return error ? faultsOf(error, shape).map(({ pointer, code }) => `${pointer} ${code}`) : []
}
const destination = (more: object) => told(destinationShape, { ...good, ...more })
const webhook = (more: object) => destination({ webhooks: [{ url: 'https://crm.example', ...more }] })

test('valid input has no faults', () => {
  expect(destination({})).toEqual([])
})

test('a missing body, or one that is not an object', () => {
  expect(told(sourceShape, undefined)).toEqual([' required'])
  expect(told(sourceShape, [])).toEqual([' invalid_type'])
})

test('all missing fields', () => {
  expect(told(destinationShape, {})).toEqual(['/name required', '/webhooks required'])
})

test('all unknown fields, at any depth', () => {
  expect(destination({ a: 1, 'b/c': 2 })).toEqual(['/a unknown_field', '/b~1c unknown_field'])
  expect(webhook({ method: 'GET' })).toEqual(['/webhooks/0/method unknown_field'])
})

test.each([
  [{ name: 5 }, '/name invalid_type'],
  [{ name: ' ' }, '/name too_short'],
  [{ name: 'x'.repeat(201) }, '/name too_long'],
  [{ type: 'Email' }, '/type invalid_value'],
  [{ enabled: 'yes' }, '/enabled invalid_type'],
  [{ sourceIds: ['ok', 'Not ok'] }, '/sourceIds/1 invalid_format'],
  [{ eventTypes: ['track', 'click'] }, '/eventTypes/1 invalid_value'],
  [{ eventTypes: [] }, '/eventTypes too_few'],
  [{ retryOn: [500] }, '/retryOn/0 invalid_value'],
  [{ webhooks: [] }, '/webhooks too_few'],
  [{ webhooks: Array(6).fill({ url: 'https://x' }) }, '/webhooks too_many'],
  [{ previousSecretExpiresAt: 'tomorrow' }, '/previousSecretExpiresAt invalid_format'],
])('a destination with %j', (more, fault) => {
  expect(destination(more)).toEqual([fault])
})

test.each([
  [{ url: 'crm.example' }, '/url invalid_url'],
  [{ url: 'ftp://crm.example' }, '/url invalid_url'],
  [{ url: 'https://user:pass@crm.example' }, '/url invalid_url'],
  [{ url: `https://crm.example/${'x'.repeat(2_048)}` }, '/url too_long'],
  [{ headers: { 'content-TYPE': 'x' } }, '/headers/content-TYPE reserved_header'],
  [{ headers: { 'a b': 'x' } }, '/headers/a b invalid_header_name'],
  [{ headers: { 'X-A': 'é' } }, '/headers/X-A invalid_header_value'],
  [{ headers: { 'X-A': ' x' } }, '/headers/X-A invalid_header_value'],
  [{ headers: { 'X-A': 5 } }, '/headers/X-A invalid_type'],
  [{ headers: { 'X-A': 'a', 'x-a': 'b' } }, '/headers duplicate_header'],
  [{ headers: { a: '', b: '', c: '', d: '', e: '', f: '' } }, '/headers too_many'],
  [{ headers: [] }, '/headers invalid_type'],
])('a webhook with %j', (more, fault) => {
  expect(webhook(more)).toEqual([`/webhooks/0${fault}`])
})

test('a message says what to do', () => {
  const body = { rateLimit: { perSecond: 0, burst: 0.5 }, labels: { a: 'x'.repeat(257) } }
  const { error } = sourceShape.safeParse(body, { reportInput: true })
  expect(error && faultsOf(error, sourceShape)).toEqual([
    { pointer: '/name', code: 'required', message: 'is required: give a string' },
    { pointer: '/rateLimit/perSecond', code: 'too_small', message: 'more than 0' },
    { pointer: '/rateLimit/burst', code: 'invalid_type', message: 'give a whole number' },
    { pointer: '/labels/a', code: 'too_long', message: 'at most 256 characters' },
  ])
})

/** By the letter of RFC 6901, section 4. */
function follow(text: string, document: unknown): unknown {
  return text
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((value, part) => (value as Record<string, unknown>)[part], document)
}

test('the empty path points at the whole document', () => {
  expect(pointer([])).toBe('')
})

test('slashes and tildes in names are escaped', () => {
  expect(pointer(['webhooks', 0, 'headers', 'a/b~c~1'])).toBe('/webhooks/0/headers/a~1b~0c~01')
})

test('whatever the names, the pointer leads to the member', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string(), fc.constantFrom('/', '~', '~1', '~0', ''))), (path) => {
      const names = path.filter((name) => name !== '__proto__')
      const document = names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), 'found')
      expect(follow(pointer(names), document)).toBe('found')
    }),
  )
})
