import { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import { pino } from 'pino'
import { vi } from 'vitest'
import '../../kafka/client.ts' // before what it changes
import type { Connection } from '../../kafka/client.ts'
import { AssignerProtocol } from '../../kafka/patches/kafkajs.ts'

const require = createRequire(import.meta.url)
const ConsumerGroup = require('kafkajs/src/consumer/consumerGroup')
const Runner = require('kafkajs/src/consumer/runner')
const RequestQueue = require('kafkajs/src/network/requestQueue')

/** kafkajs's logger. */
export const quiet: object = {
  namespace: () => quiet,
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
}

/** What consumers and producers use of a connection. @param kafka the client. */
export const connectionOf = (kafka: object) =>
  ({
    kafka,
    named: (name: string) => name,
    plain: (name: string) => name,
    log: pino({ level: 'silent' }),
    failures: { add() {}, reachableSince: () => undefined },
    elections: new EventEmitter(),
  }) as unknown as Connection

/** @param cluster the client's part that the member asks. @returns kafkajs's own class, which our patches change. */
export function aMember({ groupId = 'work', topics = [] as string[], cluster = {} } = {}) {
  return new ConsumerGroup({
    ...{ cluster, groupId, topics, logger: quiet, retry: { retries: 0 } },
    ...{ instrumentationEmitter: { emit: () => {} }, maxWaitTimeInMs: 70, minBytes: 7 },
  })
}

/** A generation fetches from the beginning. */
export const offsets = () => ({
  committedOffsets: () => ({ work: { 0: '0', 1: '0' } }),
  nextOffset: () => '0',
  resolveOffsets: async () => {},
})

/** A member with both partitions of topic `work`, which it asks a broker for with this. */
export function aFetchingMember(groupId: string, fetch: (options: object) => Promise<object>) {
  const cluster = {
    refreshMetadataIfNecessary: async () => {},
    refreshMetadata: async () => {},
    findBroker: async () => ({ fetch }),
    getNodeIds: () => ['1'],
    brokerPool: { brokers: {} },
  }
  const member = aMember({ groupId, topics: ['work'], cluster })
  member.subscriptionState.assign([{ topic: 'work', partitions: [0, 1] }])
  return Object.assign(member, {
    offsetManager: offsets(),
    filterPartitionsByNode: (_: string, of: unknown) => of,
    checkForStaleAssignment: () => {},
  })
}

/** Lets a member join its group: it gets partition 0 of `work`, where this is committed. */
export function withCoordinator(member: { cluster: object }, committed = '0') {
  const memberAssignment = AssignerProtocol.MemberAssignment.encode({
    version: 0,
    assignment: { work: [0] },
    userData: Buffer.alloc(0),
  })
  const coordinator = {
    isConnected: () => true,
    joinGroup: async () => ({ generationId: 1, leaderId: 'other', memberId: 'me', members: [] }),
    syncGroup: async () => ({ memberAssignment }),
    leaveGroup: async (_: object) => {},
    offsetFetch: async () => ({
      responses: [{ topic: 'work', partitions: [{ partition: 0, offset: committed }] }],
    }),
  }
  const offsets = {}
  Object.assign(member, { assigners: [], topicConfigurations: {} })
  Object.assign(member.cluster, {
    connect: async () => {},
    findGroupCoordinator: async () => coordinator,
    findTopicPartitionMetadata: () => [{ partitionId: 0 }],
    committedOffsets: () => offsets,
  })
  return coordinator
}

/** A running consumer of this member; it fetches nothing by itself. */
export function runnerOf(consumerGroup: object) {
  const runner = new Runner({ consumerGroup, logger: quiet, instrumentationEmitter: { emit: () => {} } })
  return Object.assign(runner, { running: true })
}

/** A connection's request queue. `requestTimeout`: ms. */
export const aQueue = ({
  maxInFlightRequests = 5,
  requestTimeout = 10_000,
  isConnected = (): boolean => true,
} = {}) =>
  new RequestQueue({
    ...{ maxInFlightRequests, requestTimeout, enforceRequestTimeout: true, isConnected },
    ...{ clientId: 'test', broker: 'b:1', logger: quiet },
  })

/** A request for such a queue. */
export const aRequest = (correlationId = 1) => {
  const entry = { correlationId, apiName: 'Metadata', resolve: vi.fn(), reject: vi.fn() }
  return { entry, expectResponse: true, sendRequest: vi.fn() }
}
