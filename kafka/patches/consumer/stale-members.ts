/**
 * Upstream: tulios/kafkajs#884 (open: static membership, KIP-345); `connect` in src/consumer/consumerGroup.js.
 * Without it: the coordinator waits for a killed process's members until their session ends. All partitions of the
 * group stall for those 10 s, even if the process restarts at once (docs/decisions/016-successors.md).
 * Until: kafkajs has `group.instance.id`; test/kafka/stale-members.test.ts.
 */
import type { Socket } from 'node:net'
import ipaddr from 'ipaddr.js'
import { prototypeOf } from '../internals.ts'

type Coordinator = {
  connectionPool: { pool: { socket?: Socket | undefined }[] }
  describeGroups(of: { groupIds: string[] }): Promise<{ groups: { members: ListedMember[] }[] }>
  leaveGroup(of: { groupId: string; memberId: string }): Promise<unknown>
}
type ConsumerGroup = {
  groupId: string
  cluster: { findGroupCoordinator(of: { groupId: string }): Promise<Coordinator> }
  logger: { debug(message: string, fields: object): void }
  connect(): Promise<void>
}
/** `clientHost`: in Java's form, `/10.0.0.1`. */
export type ListedMember = { memberId: string; clientId: string; clientHost: string }

const soleClientIds = new Map<string, string>()

/**
 * After a kill and a restart, the process's new group members replace its old ones.
 * @param clientId unique among running processes
 * @returns a function that undoes it.
 */
export function replacePredecessors(groupId: string, clientId: string): () => void {
  soleClientIds.set(groupId, clientId)
  return () => void soleClientIds.delete(groupId)
}

/** If it fails, the members go when their session ends. */
export function removeStaleMembers(): void {
  const member = prototypeOf<ConsumerGroup>('consumer/consumerGroup')
  const { connect } = member
  member.connect = async function () {
    await connect.call(this)
    const clientId = soleClientIds.get(this.groupId)
    if (clientId === undefined) return
    await removeFrom(this, clientId).catch(({ message }) =>
      this.logger.debug('stale members stay in the group until their session ends', { message }),
    )
  }
}

async function removeFrom({ groupId, cluster, logger }: ConsumerGroup, clientId: string): Promise<void> {
  const coordinator = await cluster.findGroupCoordinator({ groupId })
  const { groups } = await coordinator.describeGroups({ groupIds: [groupId] })
  // our address as the broker sees it; if it is translated, no member counts as stale
  const address = coordinator.connectionPool.pool.find(({ socket }) => socket?.localAddress)?.socket
    ?.localAddress
  if (!address) return
  for (const memberId of staleMembers(groups[0]?.members ?? [], { clientId, address }))
    await coordinator.leaveGroup({ groupId, memberId }).then(
      () => logger.debug('a stale member was removed from the group', { groupId, memberId }),
      ({ message }) =>
        logger.debug('the session of a stale member has ended', { groupId, memberId, message }),
    )
}

export function staleMembers(
  members: readonly ListedMember[],
  { clientId, address }: { clientId: string; address: string },
): string[] {
  const localAddress = normalized(address)
  return members
    .filter(
      (member) =>
        member.clientId === clientId && normalized(member.clientHost.replace('/', '')) === localAddress,
    )
    .map(({ memberId }) => memberId)
}

function normalized(address: string): string {
  const [plain = ''] = address.split('%')
  return ipaddr.isValid(plain) ? ipaddr.process(plain).toString() : plain
}
