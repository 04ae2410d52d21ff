import { LOG_FAULTS } from '../kafka/admin/lost-records.ts'
import { PARKED } from '../kafka/produce/park.ts'
import type { Role } from '../settings/config-key.ts'
import { CONFIG } from '../settings/settings.ts'
import {
  ATTEMPTS,
  AUDIT,
  DEAD,
  DELIVERIES,
  DUE,
  EVENTS,
  MEMBERS,
  REJECTED,
  RUNG,
  SEEN,
  TASKS,
  UPLOADS,
  VALUES,
} from './topics.ts'

/** What a user in Kafka may do, in the words of `kafka-acls`. */
export type Permission = {
  resource: 'topic' | 'group' | 'transactional-id' | 'cluster'
  name: string
  /** `prefixed`: for every resource whose name begins with `name`. */
  pattern: 'literal' | 'prefixed'
  operations: readonly Operation[]
}
export type Operation = 'Create' | 'Delete' | 'Describe' | 'DescribeConfigs' | 'Read' | 'Write'

/** Names without TOPIC_PREFIX. One that ends with a dot stands for all names that begin with it. */
type Use = {
  reads: readonly string[]
  writes: readonly string[]
  /** Consumer groups. */
  groups: readonly string[]
  /** Consumer groups of tables, readers, tails and replays. The process deletes them when it no longer needs them. */
  temporary: readonly string[]
  /** Consumer groups of other processes, to report their lag. */
  observed?: readonly string[]
  transactions?: readonly string[]
  /** Asks the brokers how full their disks are (STORAGE_LIMIT, STORAGE_RESERVE). */
  watchesStorage?: true
}

/** What each process does. When it starts, it also looks at all topics and creates missing ones. */
export const USES: Readonly<Record<Role, Use>> = {
  ingest: {
    reads: [CONFIG],
    writes: [EVENTS, REJECTED, LOG_FAULTS],
    groups: [],
    temporary: ['table.'],
    watchesStorage: true,
  },
  router: {
    reads: [CONFIG, EVENTS, SEEN],
    writes: [DELIVERIES, DEAD, SEEN, PARKED, LOG_FAULTS],
    groups: ['router'],
    temporary: ['table.', 'reader.'],
  },
  deliverer: {
    reads: [CONFIG, DELIVERIES, DUE, RUNG],
    writes: [DUE, RUNG, DEAD, ATTEMPTS, PARKED, LOG_FAULTS],
    groups: ['deliverer', 'deliverer.'],
    temporary: ['table.'],
    watchesStorage: true,
  },
  control: {
    reads: [
      ...[CONFIG, TASKS, AUDIT, UPLOADS, MEMBERS, VALUES],
      ...[EVENTS, REJECTED, DELIVERIES, DUE, RUNG, DEAD, ATTEMPTS, LOG_FAULTS],
    ],
    writes: [CONFIG, TASKS, AUDIT, UPLOADS, MEMBERS, VALUES, EVENTS, DUE, PARKED, LOG_FAULTS],
    groups: ['control.tasks'],
    temporary: ['table.', 'reader.', 'tail.', 'replay.'],
    observed: ['router', 'deliverer', 'deliverer.'],
    transactions: ['control.'],
    watchesStorage: true,
  },
}

const ALL_TOPICS = [...new Set(Object.values(USES).flatMap(({ reads, writes }) => [...reads, ...writes]))]

const DESCRIBE_CLUSTER: Permission = {
  resource: 'cluster',
  name: 'kafka-cluster',
  pattern: 'literal',
  operations: ['Describe'],
}

/**
 * All permissions that a process needs if Kafka has an authorizer. Read, Write and Delete imply Describe.
 * @param prefix TOPIC_PREFIX
 */
export function permissionsOf(role: Role, prefix: string): Permission[] {
  const { reads, writes, groups, temporary, observed = [], transactions = [], watchesStorage } = USES[role]
  const on =
    (resource: Permission['resource'], ...operations: Operation[]) =>
    (name: string): Permission => {
      const pattern = name.endsWith('.') ? 'prefixed' : 'literal'
      return { resource, name: `${prefix}${name}`, pattern, operations }
    }
  return [
    ...ALL_TOPICS.map(on('topic', 'Create', 'Describe', 'DescribeConfigs')),
    ...reads.map(on('topic', 'Read')),
    ...writes.map(on('topic', 'Write')),
    ...groups.map(on('group', 'Read')),
    ...temporary.map(on('group', 'Read', 'Delete')),
    ...observed.map(on('group', 'Describe')),
    ...transactions.map(on('transactional-id', 'Describe', 'Write')),
    ...(watchesStorage ? [DESCRIBE_CLUSTER] : []),
  ]
}
