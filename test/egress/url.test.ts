import { describe, expect, test } from 'vitest'
import { createEgress } from '../../egress/egress.ts'
import { ForbiddenAddress, literalOf } from '../../egress/guard.ts'

const egress = createEgress({ allow: [], servers: ['127.0.0.1:1'], hosts: '' })

describe('a URL whose host is an address, however it is written, is refused when that is not public', () => {
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
    expect(() => egress.vetLiteral(url)).toThrow(ForbiddenAddress)
    expect(await egress.faultOf(url)).toContain('is not public')
  })
})

test.each([
  'http://93.184.216.34/',
  'http://[2606:4700::1111]/',
  'http://[::ffff:93.184.216.34]/',
  'http://1572395042/',
])('%s may be reached', async (text) => {
  expect(() => egress.vetLiteral(new URL(text))).not.toThrow()
  expect(await egress.faultOf(new URL(text))).toBeUndefined()
})

test('a zone cannot be written in a URL', () => {
  expect(URL.canParse('http://[fe80::1%25eth0]/')).toBe(false)
  expect(URL.canParse('http://[fe80::1%eth0]/')).toBe(false)
})

test.each(['http://crm.example/', 'http://127.0.0.1.example/', 'http://xn--bcher-kva.example/'])(
  '%s has a name',
  (text) => {
    expect(literalOf(new URL(text))).toBeUndefined()
    expect(() => egress.vetLiteral(new URL(text))).not.toThrow()
  },
)

test('a refusal has its code, and says which address to allow', async () => {
  const url = new URL('http://[::ffff:10.0.0.5]/')
  const message =
    '::ffff:a00:5 is not public (private): use a public address, or list 10.0.0.5/32 in EGRESS_ALLOW'
  expect(() => egress.vetLiteral(url)).toThrow(
    expect.objectContaining({ code: 'address_forbidden', message }),
  )
  expect(await egress.faultOf(url)).toBe(message)
  expect(() => createEgress({ allow: ['10.0.0.5/32'] }).vetLiteral(url)).not.toThrow()
})
