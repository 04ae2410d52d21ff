import { createRequire } from 'node:module'
import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

const require = createRequire(import.meta.url)

/** As far as it matters here (kafkajs 2.2.4, src/consumer/consumerGroup.js, src/broker/index.js). */
type Coordinator = {
  describeGroups(of: { groupIds: string[] }): Promise<{ groups: { members: Listed[] }[] }>
  leaveGroup(of: { groupId: string; memberId: string }): Promise<unknown>
}
type Member = {
  groupId: string
  cluster: { findGroupCoordinator(of: { groupId: string }): Promise<Coordinator> }
  logger: { debug(message: string, fields: object): void; info(message: string, fields: object): void }
  connect(): Promise<void>
}
/** A member as its coordinator tells of it: the host is as Java writes an address, `/10.0.0.1`. */
export type Listed = { memberId: string; clientId: string; clientHost: string }

/** By group: the client id that nobody else who is alive has on this machine. */
const heirs = new Map<string, string>()

/**
 * Has the next members of the group that this process makes take the place of those that a killed process has left there: the coordinator
 * would wait for them until their session has run out, and so would all partitions of the group (docs/decisions/016).
 * @param clientId is only this process's on this machine: it holds a port that is part of it.
 */
export function succeed(groupId: string, clientId: string): void {
  heirs.set(groupId, clientId)
}

/** @returns the ids of those that a process with this client id has left, which ran at one of these addresses. */
export function leftBehind(
  members: readonly Listed[],
  { clientId, addresses }: { clientId: string; addresses: readonly string[] },
): string[] {
  const own = new Set(addresses.map(normal))
  return members
    .filter((member) => member.clientId === clientId && own.has(normal(member.clientHost.replace('/', ''))))
    .map(({ memberId }) => memberId)
}

/** One writing of an address, without zone. */
function normal(address: string): string {
  const [plain = ''] = address.split('%')
  return ipaddr.isValid(plain) ? ipaddr.process(plain).toString() : plain
}

/** Has kafkajs do so before it joins for the first time. What fails is left to the session's end. */
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
  const addresses = Object.values(networkInterfaces()).flatMap((list = []) =>
    list.map(({ address }) => address),
  )
  for (const memberId of leftBehind(groups[0]?.members ?? [], { clientId, addresses })) {
    await coordinator.leaveGroup({ groupId, memberId })
    logger.info('a member that a killed process has left was taken out of the group', { groupId, memberId })
  }
}
