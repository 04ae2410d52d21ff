import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** As far as it matters here (kafkajs 2.2.4, src/consumer/consumerGroup.js). */
type Member = {
  /** Of one join: from where to fetch. */
  offsetManager: object | null
  joinAndSync(): Promise<void>
  fetch(nodeId: string): Promise<unknown[]>
}

const { prototype: member }: { prototype: Member } = require('kafkajs/src/consumer/consumerGroup')
const {
  createErrorFromCode,
}: { createErrorFromCode: (code: number) => Error } = require('kafkajs/src/protocol/error')
const { KafkaJSGroupCoordinatorNotFound } = require('kafkajs/src/errors')

const { joinAndSync, fetch } = member

/** Kafka's protocol guide: what passes. */
const COORDINATOR_NOT_AVAILABLE = 15
/** Kafka's protocol guide: the one error upon which kafkajs joins again and keeps its member id. */
const REBALANCE_IN_PROGRESS = 27

/** Those between a join that was begun and one that has succeeded. */
const outside = new WeakSet<Member>()
/** When a topic has grown each of a member's fetches has it join. */
const joining = new WeakMap<Member, Promise<void>>()

/**
 * Makes kafkajs join again for as long as it is not in its group (docs/decisions/002). When a join fails with what may pass (a
 * coordinator that still loads, as after it has moved), it would go on to fetch as before: without heartbeats, which only a member sends,
 * so that nothing ever tells it to join, while the broker takes none of its commits. When there is no coordinator for as long as it asks
 * for one, it would end for good.
 */
export function joinUntilJoined(): void {
  member.joinAndSync = function (this: Member) {
    const underWay = joining.get(this) ?? join(this).finally(() => joining.delete(this))
    joining.set(this, underWay)
    return underWay
  }
  member.fetch = async function (this: Member, nodeId) {
    if (outside.has(this)) throw createErrorFromCode(REBALANCE_IN_PROGRESS)
    const { offsetManager } = this
    const batches = await fetch.call(this, nodeId)
    // from where the last generation was: resolved in this one, they would pass over what was released in between
    return this.offsetManager === offsetManager && !outside.has(this) ? batches : []
  }
}

async function join(member: Member): Promise<void> {
  outside.add(member)
  try {
    await joinAndSync.call(member)
  } catch (error) {
    if (error instanceof KafkaJSGroupCoordinatorNotFound) throw createErrorFromCode(COORDINATOR_NOT_AVAILABLE)
    throw error
  }
  outside.delete(member)
}
