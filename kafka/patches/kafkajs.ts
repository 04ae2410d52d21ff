import type * as KafkaJs from 'kafkajs'
// these two replace modules, before kafkajs loads what imports them
import './group-messages.ts'
import './fetch-decoder.ts'
import { createRequire } from 'node:module'
import { retryJoins } from './coordinator-loading.ts'
import { followMoves } from './coordinator-moves.ts'
import { adjustFetchWaits } from './fetch-wait.ts'
import { stopIdlePolling } from './idle-requests.ts'
import { watchFetches } from './log-watch/fetches.ts'
import { measureByMonotonicClock } from './monotonic-clock.ts'
import { replaceProduceEncoder } from './produce-encoder.ts'
import { removeStaleMembers } from './stale-members.ts'
import { closeUnanswered } from './unanswered.ts'

/**
 * The patched client, for this folder to import from here only. Each patch holds for all clients in this process. The order matters:
 * several wrap the same method. Why Sluice stays on kafkajs 2.2.4: docs/decisions/026-kafkajs.md.
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
retryJoins()
followMoves()
closeUnanswered()
removeStaleMembers()
adjustFetchWaits()
watchFetches()
stopIdlePolling()
