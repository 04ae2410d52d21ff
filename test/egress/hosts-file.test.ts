import { describe, expect, test } from 'vitest'
import { canonical, localAddresses, parseHosts } from '../../egress/hosts-file.ts'

const text = `# made by hand
127.0.0.1\tlocalhost
10.0.0.5   Receiver receiver.internal  # two names

  fd12::5 receiver
fe80::1%lo0 linked
999.1.1.1 wrong
nothing
10.0.0.6\tlast.\r
`
const hosts = parseHosts(text)

test("every name has its addresses, in the file's order", () => {
  expect(localAddresses('receiver', hosts)).toEqual([
    { address: '10.0.0.5', family: 4 },
    { address: 'fd12::5', family: 6 },
  ])
  expect(localAddresses('receiver.internal', hosts)).toEqual([{ address: '10.0.0.5', family: 4 }])
  expect(localAddresses('last', hosts)).toEqual([{ address: '10.0.0.6', family: 4 }])
})

test('comments, invalid addresses and addresses with a zone are skipped', () => {
  expect([...hosts.keys()]).toEqual(['localhost', 'receiver', 'receiver.internal', 'last'])
  expect(localAddresses('elsewhere', hosts)).toBeUndefined()
  expect(parseHosts('').size).toBe(0)
})

describe('localhost', () => {
  test.each(['localhost', 'a.localhost', 'a.b.localhost'])(
    '%s is loopback, whatever the file says',
    (name) => {
      const addresses = localAddresses(name, parseHosts('10.0.0.5 localhost a.localhost'))
      expect(addresses?.map(({ address }) => address)).toEqual(['127.0.0.1', '::1'])
    },
  )

  test.each(['localhost.example', 'mylocalhost'])('%s is not loopback', (name) => {
    expect(localAddresses(name, hosts)).toBeUndefined()
  })
})

test('names have a canonical spelling', () => {
  expect(['CRM.Example', 'crm.example.', 'crm.example'].map(canonical)).toEqual(Array(3).fill('crm.example'))
})
