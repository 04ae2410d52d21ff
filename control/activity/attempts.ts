import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Connection } from '../../kafka/client.ts'
import { openTail, type Tail } from '../../kafka/tables/tail.ts'
import type { Attempt, AttemptOutcome } from '../../schemas/attempt.ts'
import type { Codec } from '../../schemas/codec.ts'
import { ATTEMPTS } from '../../schemas/topics.ts'
import type { Facts } from '../../settings/resources/resource.ts'
import { seenBy } from '../../settings/resources/workspaces.ts'
import { idShape } from '../../settings/settings.ts'
import { addPath, operation } from '../api/operation.ts'
import { pageOf } from '../api/pagination.ts'
import { isoTime, timeShape } from '../api/response.ts'
import {
  decodeOrSkip,
  type Followed,
  followed,
  isLoadedSoon,
  loading,
  type Unreadable,
} from './records/following.ts'
import { idField, isWithin, rangeFields } from './records/query-fields.ts'
import { createRecentRecords, type RecentRecords, type RecordPosition } from './records/recent-records.ts'

export type AttemptRouteParts = { attempts: Omit<Attempts, 'onAttempt' | 'begun' | 'close'> }

type Parts = AttemptRouteParts & { settings: Pick<Facts, 'destinations'> }

export function attemptRoutes(api: FastifyInstance, { attempts, settings }: Parts): void {
  addPath(api, '/attempts', {
    GET: operation({
      summary: 'List recent attempts',
      description: 'The last 10,000 (at most 32 MB), newest first. `oldest` says how far back they reach.',
      query: attemptsQueryShape,
      responses: {
        200: { description: 'A page.', body: pageOf(attemptShape).extend({ oldest: timeShape }) },
      },
      inWorkspace: true,
      async handle({ query, caller }) {
        if (!(await isLoadedSoon(attempts))) return loading
        const { recent } = attempts
        const isSeen = seenBy(caller, settings.destinations)
        const matches = matchesQuery(query)
        const { items, next } = recent.page({
          ...query,
          matches: (held) => isSeen(held.attempt) && matches(held),
        })
        const oldest = recent.oldest()
        return {
          status: 200,
          body: {
            items: items.map(({ attempt }) => attemptResponse(attempt)),
            next,
            oldest: isoTime(oldest),
          },
        }
      },
    }),
  })
}

export type Attempts = Followed &
  Pick<Tail, 'begun'> &
  Pick<RecentAttempts, 'ofMessage'> & {
    recent: Pick<RecentRecords<RecentAttempt>, 'all' | 'page' | 'oldest'>
    onAttempt(listener: (attempt: Attempt) => void): () => void
    close(): Promise<void>
  }

const MAX_COUNT = 10_000
const MAX_BYTES = 32 * 1024 * 1024
/** Over all partitions. Enough for the newest, with up to twenty. */
const MAX_READ = 200_000

export async function followAttempts(options: {
  connection: Connection
  codec: Pick<Codec<Attempt>, 'decode'>
  onUnreadable: (reason: Unreadable) => void
  /** Includes attempts from before this process started. */
  onRead: (attempt: Attempt) => void
  onFatal: (error: Error) => void
}): Promise<Attempts> {
  const { connection, codec, onUnreadable, onRead, onFatal } = options
  const { recent, ofMessage } = createRecentAttempts({ maxCount: MAX_COUNT, maxBytes: MAX_BYTES })
  const listeners = new Set<(attempt: Attempt) => void>()
  const decode = decodeOrSkip(codec, onUnreadable)
  const tail = await openTail({
    connection,
    topics: [ATTEMPTS],
    last: (partitions) => Math.min(MAX_COUNT, Math.ceil(MAX_READ / partitions)),
    onRecord: ({ partition, offset, value }) =>
      decode(value, (attempt) => {
        recent.add({ time: attempt.startedAt, partition, offset, attempt, bytes: bytesOf(value) })
        onRead(attempt)
        for (const listener of listeners) listener(attempt)
      }),
    onFatal,
  })
  return {
    recent,
    ...followed(tail, recent),
    begun: tail.begun,
    ofMessage,
    onAttempt(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: tail.close,
  }
}

/** Decoded, it takes some hundred bytes more, and twice the space with characters beyond Latin-1. */
const bytesOf = (value: Buffer | null) => 500 + 2 * (value?.length ?? 0)

export type RecentAttempts = {
  recent: RecentRecords<RecentAttempt>
  /** In any order. Sources may share a messageId. */
  ofMessage(messageId: string): Iterable<Attempt>
}

export function createRecentAttempts({
  maxCount,
  maxBytes,
}: {
  maxCount: number
  maxBytes: number
}): RecentAttempts {
  const byMessage = new Map<string, Set<Attempt>>()
  const held = createRecentRecords<RecentAttempt>({
    maxCount,
    maxBytes,
    bytesOf: ({ bytes }) => bytes,
    onDropped: removeFromMessage,
  })

  function addToMessage({ attempt }: RecentAttempt): void {
    const found = byMessage.get(attempt.messageId) ?? new Set()
    byMessage.set(attempt.messageId, found.add(attempt))
  }

  function removeFromMessage({ attempt }: RecentAttempt): void {
    const found = byMessage.get(attempt.messageId)
    found?.delete(attempt)
    if (found?.size === 0) byMessage.delete(attempt.messageId)
  }

  return {
    recent: {
      ...held,
      add(item) {
        // an item that is too large is dropped at once
        addToMessage(item)
        held.add(item)
      },
    },
    ofMessage: (messageId) => byMessage.get(messageId) ?? [],
  }
}

export type RecentAttempt = RecordPosition & { attempt: Attempt; bytes: number }

export const OUTCOMES = [
  'delivered',
  'rejected',
  'retry',
  'refused',
  'cancelled',
  'deferred',
] as const satisfies readonly AttemptOutcome[]

const attemptsQueryShape = z.strictObject({
  ...rangeFields,
  destinationId: idShape.optional(),
  sourceId: idShape.optional(),
  outcome: z.enum(OUTCOMES).optional(),
  deliveryId: idField.optional(),
  messageId: idField.optional(),
})

const FIELDS = ['destinationId', 'sourceId', 'outcome', 'deliveryId', 'messageId'] as const

function matchesQuery(query: z.infer<typeof attemptsQueryShape>): (held: RecentAttempt) => boolean {
  const fields = FIELDS.filter((field) => query[field] !== undefined)
  return (held) => isWithin(held, query) && fields.every((field) => held.attempt[field] === query[field])
}

export const attemptShape = z
  .strictObject({
    deliveryId: z.string().describe('As in `X-Delivery-Id`.'),
    messageId: z.string().describe('Id of the call, as in `X-Message-Id`.'),
    sourceId: z.string(),
    destinationId: z.string(),
    urlIndex: z
      .number()
      .nullable()
      .describe('Position of the webhook in the destination, from 0; null if no webhook was chosen.'),
    attempt: z.number().describe('From 1, as in `X-Attempt`.'),
    startedAt: timeShape,
    durationMs: z.number().describe('Until the response headers, or the failure.'),
    outcome: z.enum(OUTCOMES),
    status: z.number().nullable().describe('Status of the response, if there was one.'),
    code: z
      .string()
      .nullable()
      .describe('Why it was not delivered: `http_5xx`, `timeout`, `ECONNREFUSED` and so on.'),
    response: z.string().nullable().describe('First 1,024 bytes of the response body.'),
    urlHash: z
      .number()
      .nullable()
      .describe(
        "FNV-1a hash of the URL at that time. It equals the hash of the webhook's URL now, unless the URL was changed. Null if no webhook was chosen, or in attempts of earlier builds.",
      ),
  })
  .meta({ id: 'Attempt' })

export const attemptResponse = ({
  acceptedAt: _,
  settles: __,
  ...attempt
}: Attempt): z.infer<typeof attemptShape> => ({
  ...attempt,
  startedAt: isoTime(attempt.startedAt),
})
