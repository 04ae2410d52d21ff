import type * as KafkaJs from 'kafkajs'
// these three must run before kafkajs loads the modules that import what they replace
import './group-messages.ts'
import './fetch-decoder.ts'
import './fetch-wait.ts'
import { createRequire } from 'node:module'
import { tolerateLeaderless } from './all-topics.ts'
import { retryJoins } from './coordinator-loading.ts'
import { followMoves } from './coordinator-moves.ts'
import { adjustFetchWaits } from './fetch-wait.ts'
import { stopIdlePolling } from './idle-requests.ts'
import { watchFetches } from './log-watch/fetches.ts'
import { measureByMonotonicClock } from './monotonic-clock.ts'
import { replaceProduceEncoder } from './produce-encoder.ts'
import { forgetClosedSockets } from './repeated-disconnect.ts'
import { removeStaleMembers } from './stale-members.ts'
import { closeUnanswered } from './unanswered.ts'

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
tolerateLeaderless()
retryJoins()
followMoves()
closeUnanswered()
removeStaleMembers()
adjustFetchWaits()
watchFetches()
stopIdlePolling()
forgetClosedSockets()
