import { expect, test } from 'vitest'
import { leftBehind } from '../../kafka/predecessor.ts'

const own = { clientId: 'sluice-router:8082', addresses: ['10.0.0.7', 'fe80::1', '::1'] }
const member = (more: object) => ({
  memberId: 'left',
  clientId: own.clientId,
  clientHost: '/10.0.0.7',
  ...more,
})

test.each([
  ['as it is', {}],
  ['by a long address of Java', { clientHost: '/fe80:0:0:0:0:0:0:1%eth0' }],
  ['by the machine itself', { clientHost: '/0:0:0:0:0:0:0:1' }],
])('the member of a process with this client id on this machine is left behind: %s', (_, more) => {
  expect(leftBehind([member(more)], own)).toEqual(['left'])
})

test.each([
  ['another port', { clientId: 'sluice-router:8092' }],
  ['another machine', { clientHost: '/10.0.0.8' }],
  ['no address', { clientHost: '' }],
])('that of %s is not', (_, more) => {
  expect(leftBehind([member(more)], own)).toEqual([])
})
