import { createRequire } from 'node:module'
import { expect, test, vi } from 'vitest'
import '../../kafka/client.ts' // applies the patch
import { replacePredecessors, staleMembers } from '../../kafka/patches/consumer/stale-members.ts'

const require = createRequire(import.meta.url)
const ConsumerGroup = require('kafkajs/src/consumer/consumerGroup')

const clientId = 'sluice-router/web-1/0.0.0.0:8082'
const member = (more: object = {}) => ({ memberId: 'left', clientId, clientHost: '/10.0.0.7', ...more })

test.each([
  ['10.0.0.7', '/10.0.0.7'],
  ['fe80::1%eth0', '/fe80:0:0:0:0:0:0:1%2'],
  ['::ffff:10.0.0.7', '/10.0.0.7'],
])('a member with this client id from %s is stale', (address, clientHost) => {
  expect(staleMembers([member({ clientHost })], { clientId, address })).toEqual(['left'])
})

test.each([
  ['another port', { clientId: 'sluice-router/web-1/0.0.0.0:8092' }],
  ['another machine', { clientHost: '/10.0.0.8' }],
  ['no address', { clientHost: '' }],
])('a member of %s is not', (_, more) => {
  expect(staleMembers([member(more)], { clientId, address: '10.0.0.7' })).toEqual([])
})

test('each stale member is removed, even if the session of one of them ends meanwhile', async () => {
  const leaveGroup = vi.fn(({ memberId }) =>
    memberId === 'first' ? Promise.reject(new Error('unknown member')) : Promise.resolve(),
  )
  const coordinator = {
    connectionPool: { pool: [{}, { socket: { localAddress: '10.0.0.7' } }] },
    describeGroups: async () => ({
      groups: [{ members: [member({ memberId: 'first' }), member({ memberId: 'second' })] }],
    }),
    leaveGroup,
  }
  const nothing = async () => undefined
  const cluster = {
    connect: nothing,
    refreshMetadataIfNecessary: nothing,
    findGroupCoordinator: async () => coordinator,
  }
  const quiet = { namespace: () => quiet, debug: nothing }
  const group = new ConsumerGroup({
    cluster,
    groupId: 'work',
    topics: [],
    logger: quiet,
    instrumentationEmitter: { emit: nothing },
  })
  const end = replacePredecessors('work', clientId)
  await group.connect()
  end()
  await group.connect()
  expect(leaveGroup.mock.calls).toEqual([
    [{ groupId: 'work', memberId: 'first' }],
    [{ groupId: 'work', memberId: 'second' }],
  ])
})
