import type { LookupAddress } from 'node:dns'
import { connect, createServer, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createEgress, type EgressOptions } from '../../egress/egress.ts'
import { type DnsReply, nameServer, type Question } from './name-server.ts'

type Found = { address: string | LookupAddress[]; family?: number | undefined }

function egress(options: Partial<EgressOptions>) {
  const open = createEgress({ allow: [], hosts: '', ...options })
  onTestFinished(open.close)
  const lookup = (host: string, more: { all?: boolean; family?: number } = { all: true }) =>
    new Promise<Found>((resolve, reject) =>
      open.lookup(host, more, (error, address, family) =>
        error ? reject(error) : resolve({ address, family }),
      ),
    )
  return { ...open, lookup }
}

const onlyA =
  (...addresses: string[]) =>
  ({ type }: Question): DnsReply => ({ addresses: type === 'A' ? addresses : [], ttl: 0 })

/** Answers with another address each time. */
function turning(...turns: string[]) {
  let turn = 0
  return ({ type }: Question): DnsReply =>
    type === 'A' ? { addresses: [turns[turn++ % turns.length] ?? ''], ttl: 0 } : { addresses: [] }
}

describe('a lookup', () => {
  test('returns the addresses in the requested form', async () => {
    const { servers } = await nameServer(({ type }) => ({
      addresses: type === 'A' ? ['8.8.8.8', '8.8.4.4'] : ['2606:4700:0:0:0:0:0:1'],
    }))
    const { lookup } = egress({ servers })
    expect((await lookup('crm.example')).address).toEqual(
      expect.arrayContaining([
        { address: '8.8.8.8', family: 4 },
        { address: '8.8.4.4', family: 4 },
      ]),
    )
    expect(await lookup('crm.example', {})).toEqual({ address: '8.8.8.8', family: 4 })
    expect(await lookup('crm.example', { family: 6 })).toEqual({ address: '2606:4700::1', family: 6 })
  })

  test.each([
    ['alone', ['10.0.0.5']],
    ['among public ones', ['8.8.8.8', '8.8.4.4', '10.0.0.5']],
  ])('of a name with a forbidden address %s is refused', async (_, addresses) => {
    const { servers } = await nameServer(onlyA(...addresses))
    await expect(egress({ servers }).lookup('crm.example')).rejects.toMatchObject({
      code: 'address_forbidden',
      message:
        'crm.example resolves to an address that webhooks may not reach: use a public address. Operators find it in the log',
    })
  })

  test.each([
    '0:0:0:0:0:0:7f00:1',
    '0:0:0:0:0:ffff:7f00:1',
    '64:ff9b:0:0:0:0:a00:5',
    'fd00:ec2:0:0:0:0:0:254',
  ])(
    'of a name with a valid A and an AAAA that is %s is refused, even if only IPv4 would be dialled',
    async (bad) => {
      const { servers } = await nameServer(({ type }) => ({ addresses: type === 'A' ? ['8.8.8.8'] : [bad] }))
      const { lookup } = egress({ servers })
      await expect(lookup('crm.example', { family: 4 })).rejects.toMatchObject({ code: 'address_forbidden' })
    },
  )

  test('of localhost and of names in the hosts file is vetted too', async () => {
    const { servers } = await nameServer(() => 'silence')
    const hosts = '10.0.0.5 receiver'
    for (const host of ['localhost', 'a.localhost', 'receiver'])
      await expect(egress({ servers, hosts }).lookup(host)).rejects.toMatchObject({
        code: 'address_forbidden',
      })
    const { lookup } = egress({ servers, hosts, allow: ['127.0.0.0/8', '::1/128', '10.0.0.5/32'] })
    expect((await lookup('receiver')).address).toEqual([{ address: '10.0.0.5', family: 4 }])
    expect((await lookup('localhost')).address).toHaveLength(2)
  })

  test('of a name without an address of the requested family finds nothing', async () => {
    const { servers } = await nameServer(onlyA('8.8.8.8'))
    await expect(egress({ servers }).lookup('crm.example', { family: 6 })).rejects.toMatchObject({
      code: 'ENOTFOUND',
    })
  })
})

/** Listens on all of 127.0.0.0/8. @returns its port */
async function listener(): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => void sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}

/** @returns the connected address */
function dialledBy(
  lookup: ReturnType<typeof createEgress>['lookup'],
  port: number,
): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: 'rebind.example', port, lookup })
    socket.once('error', reject)
    socket.once('connect', () => {
      resolve(socket.remoteAddress)
      socket.destroy()
    })
  })
}

describe('a name that changes between check and use', () => {
  test('is dialled at the vetted address: there is no second lookup', async () => {
    const { servers, asked } = await nameServer(turning('127.0.0.2', '127.0.0.1'))
    const { lookup } = createEgress({ allow: ['127.0.0.2/32'], hosts: '', servers })
    expect(await dialledBy(lookup, await listener())).toBe('127.0.0.2')
    expect(asked.filter(({ type }) => type === 'A')).toHaveLength(1)
  })

  test('is refused after the change', async () => {
    const { servers } = await nameServer(turning('127.0.0.2', '127.0.0.1'))
    const port = await listener()
    const fresh = () => createEgress({ allow: ['127.0.0.2/32'], hosts: '', servers }).lookup
    expect(await dialledBy(fresh(), port)).toBe('127.0.0.2')
    await expect(dialledBy(fresh(), port)).rejects.toMatchObject({ code: 'address_forbidden' })
  })
})

describe('when a URL is saved', () => {
  const saving = async (
    say: (question: Question) => DnsReply,
    url: string,
    more: Partial<EgressOptions> = {},
  ) => {
    const { servers } = await nameServer(say)
    return egress({ servers, ...more }).faultOf(new URL(url))
  }

  test('it is refused if one address of its name is forbidden', async () => {
    expect(await saving(onlyA('8.8.8.8', '169.254.169.254'), 'https://crm.example/hook')).toBe(
      'crm.example resolves to an address that webhooks may not reach: use a public address. Operators find it in the log',
    )
    expect(await saving(onlyA(), 'http://localhost:9000/')).toContain('127.0.0.1')
  })

  test('it is accepted if its name has public or allowed addresses', async () => {
    expect(await saving(onlyA('8.8.8.8'), 'https://crm.example/')).toBeUndefined()
    expect(await saving(onlyA('10.0.0.5'), 'https://crm.example/', { allow: ['10.0.0.0/8'] })).toBeUndefined()
  })

  test.each([2, 3, 5])('it is accepted if its name has no address yet (rcode %i)', async (rcode) => {
    expect(await saving(() => ({ rcode }), 'https://crm.example/')).toBeUndefined()
  })

  test('it is accepted if the hosts file lists its name only on an interface of this machine', async () => {
    expect(await saving(onlyA(), 'http://linked/', { hosts: 'fe80::1%lo0 linked' })).toBeUndefined()
  })

  test('it is accepted if its name is not a valid name', async () => {
    expect(await saving(() => 'silence', 'https://a..b/')).toBeUndefined()
  })
})
