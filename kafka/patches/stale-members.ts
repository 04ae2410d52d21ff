import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import ipaddr from 'ipaddr.js'

const require = createRequire(import.meta.url)

/** As far as it matters here (kafkajs 2.2.4, src/consumer/consumerGroup.js, src/broker/index.js). */
type Coordinator = {
  connectionPool: { pool: { socket?: Socket | undefined }[] }
  describeGroups(of: { groupIds: string[] }): Promise<{ groups: { members: Listed[] }[] }>
  leaveGroup(of: { groupId: string; memberId: string }): Promise<unknown>
}
type Member = {
  groupId: string
  cluster: { findGroupCoordinator(of: { groupId: string }): Promise<Coordinator> }
  logger: { debug(message: string, fields: object): void }
  connect(): Promise<void>
}
/** A member as its coordinator tells of it: the host is as Java writes an address, `/10.0.0.1`. */
export type Listed = { memberId: string; clientId: string; clientHost: string }

/** By group: the client id that nobody else who is alive has. */
const heirs = new Map<string, string>()

/**
 * Has members of the group that this process makes take the place of those that a killed process has left there: the coordinator
 * would wait for them until their session has run out, and so would all partitions of the group (docs/decisions/016).
 * @param clientId is only this process's.
 * @returns what ends it.
 */
export function succeed(groupId: string, clientId: string): () => void {
  heirs.set(groupId, clientId)
  return () => void heirs.delete(groupId)
}

/** @returns the ids of those that a process with this client id has left, which came from this address. */
export function leftBehind(
  members: readonly Listed[],
  { clientId, address }: { clientId: string; address: string },
): string[] {
  const own = normal(address)
  return members
    .filter((member) => member.clientId === clientId && normal(member.clientHost.replace('/', '')) === own)
    .map(({ memberId }) => memberId)
}

/** One writing of an address, without zone. */
function normal(address: string): string {
  const [plain = ''] = address.split('%')
  return ipaddr.isValid(plain) ? ipaddr.process(plain).toString() : plain
}

/** Has kafkajs do so whenever it connects a member that is to join as a new one. What fails is left to the session's end. */
export function succeedKilled(): void {
  const { prototype: member }: { prototype: Member } = require('kafkajs/src/consumer/consumerGroup')
  const { connect } = member
  member.connect = async function () {
    await connect.call(this)
    const clientId = heirs.get(this.groupId)
    if (clientId === undefined) return
    await leaveFor(this, clientId).catch(({ message }) =>
      this.logger.debug('what a killed process left in the group stays until its session ends', { message }),
    )
  }
}

async function leaveFor({ groupId, cluster, logger }: Member, clientId: string): Promise<void> {
  const coordinator = await cluster.findGroupCoordinator({ groupId })
  const { groups } = await coordinator.describeGroups({ groupIds: [groupId] })
  // as the broker sees this process, unless something between them changes addresses: then nothing is left behind
  const address = coordinator.connectionPool.pool.find(({ socket }) => socket?.localAddress)?.socket
    ?.localAddress
  if (!address) return
  for (const memberId of leftBehind(groups[0]?.members ?? [], { clientId, address }))
    await coordinator.leaveGroup({ groupId, memberId }).then(
      () => logger.debug('what a killed process left was taken out of the group', { groupId, memberId }),
      ({ message }) => logger.debug('its session ended by itself', { groupId, memberId, message }),
    )
}
