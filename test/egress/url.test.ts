import { describe, expect, test } from 'vitest'
import { createEgress } from '../../egress/egress.ts'
import { ForbiddenAddress, literalOf } from '../../egress/vet.ts'

const egress = createEgress({ allow: [], servers: ['127.0.0.1:1'], hosts: '' })

describe('a non-public IP literal is refused in any spelling', () => {
  test.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0x7f.0.0.1/',
    'http://017700000001/',
    'http://0177.0.0.1/',
    'http://127.1/',
    'http://127.0.1/',
    'http://0/',
    'http://127.0.0.1./',
    'http://1２7.0.0.1/',
    'http://①②⑦.0.0.1/',
    'http://127。0。0。1/',
    'http://127%2e0%2e0%2e1/',
    'http://[::1]/',
    'http://[0:0:0:0:0:0:0:1]:8080/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::127.0.0.1]/',
    'http://[64:ff9b::10.0.0.1]/',
    'http://[2002:7f00:1::]/',
    'http://[2001:0:808:808::80ff:fffe]/',
    'http://[2606:4700::5efe:10.0.0.1]/',
    'http://[fe80::1]/',
    'http://[fd00:ec2::254]/latest/meta-data/',
    'http://169.254.169.254/latest/meta-data/',
    'http://168.63.129.16/',
    'http://100.100.100.200/',
    'https://10.0.0.1:443/',
  ])('%s', async (text) => {
    const url = new URL(text)
    expect(() => egress.vetUrl(url)).toThrow(ForbiddenAddress)
    expect(await egress.faultOf(url)).toContain('is not public')
  })
})

test.each([
  'http://93.184.216.34/',
  'http://[2606:4700::1111]/',
  'http://[::ffff:93.184.216.34]/',
  'http://1572395042/',
])('%s is allowed', async (text) => {
  expect(() => egress.vetUrl(new URL(text))).not.toThrow()
  expect(await egress.faultOf(new URL(text))).toBeUndefined()
})

test('a URL cannot contain a zone', () => {
  expect(URL.canParse('http://[fe80::1%25eth0]/')).toBe(false)
  expect(URL.canParse('http://[fe80::1%eth0]/')).toBe(false)
})

test.each(['http://crm.example/', 'http://127.0.0.1.example/', 'http://xn--bcher-kva.example/'])(
  '%s has a name',
  (text) => {
    expect(literalOf(new URL(text))).toBeUndefined()
    expect(() => egress.vetUrl(new URL(text))).not.toThrow()
  },
)

test('a refusal has its code and names the address to allow', async () => {
  const url = new URL('http://[::ffff:10.0.0.5]/')
  const message =
    '::ffff:a00:5 is not public (private): use a public address, or list 10.0.0.5/32 in EGRESS_ALLOW'
  expect(() => egress.vetUrl(url)).toThrow(expect.objectContaining({ code: 'address_forbidden', message }))
  expect(await egress.faultOf(url)).toBe(message)
  expect(() => createEgress({ allow: ['10.0.0.5/32'] }).vetUrl(url)).not.toThrow()
})

describe('EGRESS_PORTS', () => {
  const some = createEgress({
    allow: [],
    ports: [
      [443, 443],
      [8_000, 8_099],
    ],
    servers: ['127.0.0.1:1'],
    hosts: '',
  })

  test.each([
    'https://a.example/',
    'https://93.184.216.34/',
    'http://a.example:8000/',
    'http://a.example:8099/',
  ])('allows %s', async (text) => {
    expect(() => some.vetUrl(new URL(text))).not.toThrow()
    expect(await some.faultOf(new URL(text))).toBeUndefined()
  })

  test.each(['http://a.example/', 'https://a.example:22/', 'http://93.184.216.34:8100/'])(
    'refuses %s',
    async (text) => {
      const message = expect.stringContaining('use one of 443, 8000-8099 (EGRESS_PORTS)')
      expect(() => some.vetUrl(new URL(text))).toThrow(
        expect.objectContaining({ code: 'address_forbidden', message }),
      )
      expect(await some.faultOf(new URL(text))).toEqual(message)
    },
  )
})

test("a name's internal address is logged once a minute and not shown to the customer", async () => {
  const lines: unknown[] = []
  const log = { warn: (...line: unknown[]) => void lines.push(line) }
  const inside = createEgress({ allow: [], hosts: '10.0.0.5 crm.internal', log })
  const told = await inside.faultOf(new URL('http://crm.internal/'))
  expect(told).toBe(
    'crm.internal resolves to an address that webhooks may not reach: use a public address. Operators find it in the log',
  )
  await inside.faultOf(new URL('http://crm.internal/hook'))
  expect(lines).toEqual([
    [{ host: 'crm.internal', address: '10.0.0.5', reason: 'private' }, expect.any(String)],
  ])
})

test('a denied address is reported as such', async () => {
  const rules = createEgress({ allow: [], deny: ['93.184.216.0/24'], hosts: '' })
  expect(await rules.faultOf(new URL('http://93.184.216.34/'))).toContain('EGRESS_DENY lists it')
})
