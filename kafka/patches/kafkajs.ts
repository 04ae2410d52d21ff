import type * as KafkaJs from 'kafkajs'
// these must run before kafkajs loads the modules that import what they replace
import './group-messages.ts'
import './fetch-decoder.ts'
import './consumer/fetch-wait.ts'
import './producer-ids.ts'
import { createRequire } from 'node:module'
import { retryJoins } from './consumer/coordinator-loading.ts'
import { followMoves } from './consumer/coordinator-moves.ts'
import { adjustFetchWaits } from './consumer/fetch-wait.ts'
import { removeStaleMembers } from './consumer/stale-members.ts'
import { fetchAroundUnreadable } from './consumer/unreadable.ts'
import { tolerateLeaderless } from './leaderless.ts'
import { watchFetches } from './log-watch/fetches.ts'
import { measureByMonotonicClock } from './monotonic-clock.ts'
import { stopIdlePolling } from './network/idle-requests.ts'
import { beginSocketsAnew } from './network/new-socket.ts'
import { forgetClosedSockets } from './network/repeated-disconnect.ts'
import { closeUnanswered } from './network/unanswered.ts'
import { replaceProduceEncoder } from './produce-encoder.ts'
import { reportRefusals } from './refusals.ts'
import { tolerateShortOfReplicas } from './short-of-replicas.ts'

/**
 * The patched client: import kafkajs only from here, and only within `kafka/` (docs/decisions/026-kafkajs.md). Patches
 * apply to all clients in this process. Their order matters: several wrap the same method.
 */
const kafkajs: typeof KafkaJs = createRequire(import.meta.url)('kafkajs')
export const {
  AssignerProtocol,
  CompressionTypes,
  ConfigResourceTypes,
  ConfigSource,
  Kafka,
  logLevel,
  PartitionAssigners,
} = kafkajs

measureByMonotonicClock()
replaceProduceEncoder()
tolerateShortOfReplicas()
tolerateLeaderless()
reportRefusals()
retryJoins()
followMoves()
closeUnanswered()
removeStaleMembers()
adjustFetchWaits()
watchFetches()
fetchAroundUnreadable()
stopIdlePolling()
beginSocketsAnew()
forgetClosedSockets()
