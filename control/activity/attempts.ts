import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Outcome } from '../../delivery/outcome.ts'
import type { Connection } from '../../kafka/client.ts'
import { openTail } from '../../kafka/tables/tail.ts'
import type { Attempt, AttemptOutcome } from '../../schemas/attempt.ts'
import type { Codec } from '../../schemas/codec.ts'
import { ATTEMPTS } from '../../schemas/topics.ts'
import { idShape } from '../../settings/settings.ts'
import { addPath, operation } from '../api/operation.ts'
import { pageOf } from '../api/pagination.ts'
import { isoTime, timeShape } from '../api/response.ts'
import { decodeOrSkip, type Followed, followed, isLoadedSoon, loading, type Unreadable } from './following.ts'
import {
  createRecentRecords,
  idField,
  isWithin,
  type Place,
  type RecentRecords,
  rangeFields,
} from './recent-records.ts'

export type AttemptRouteParts = { attempts: Omit<Attempts, 'onAttempt' | 'close'> }

/** `/attempts`: those of late, newest first. */
export function attemptRoutes(api: FastifyInstance, { attempts }: AttemptRouteParts): void {
  addPath(api, '/attempts', {
    GET: operation({
      summary: 'The attempts of late',
      description: 'Newest first, of the last 10,000 or 32 MB; `oldest` says how far back they reach.',
      query: attemptsQueryShape,
      responses: {
        200: { description: 'A page.', body: pageOf(attemptShape).extend({ oldest: timeShape }) },
      },
      async handle({ query }) {
        if (!(await isLoadedSoon(attempts))) return loading
        const { recent } = attempts
        const { items, next } = recent.page({ ...query, matches: matchesQuery(query) })
        const oldest = recent.oldest()
        return {
          status: 200,
          body: {
            items: items.map(({ attempt }) => attemptResponse(attempt)),
            next,
            oldest: oldest === null ? null : isoTime(oldest),
          },
        }
      },
    }),
  })
}

/** The attempts of late, of all deliverers. */
export type Attempts = Followed &
  Pick<RecentAttempts, 'ofMessage'> & {
    recent: Pick<RecentRecords<RecentAttempt>, 'all' | 'page' | 'oldest'>
    /** Tells of each attempt that is read from now on. @returns how to hear no more. */
    onAttempt(listener: (attempt: Attempt) => void): () => void
    close(): Promise<void>
  }

const MOST = 10_000
const MOST_BYTES = 32 * 1024 * 1024
/** All partitions together; of up to twenty each is read as far back as if it had the last ones of all. */
const MOST_READ = 200_000

export async function followAttempts(options: {
  connection: Connection
  codec: Pick<Codec<Attempt>, 'decode'>
  onUnreadable: (reason: Unreadable) => void
  /** Told of each attempt that is read, those from before this process too. */
  onRead: (attempt: Attempt) => void
  onFatal: (error: Error) => void
}): Promise<Attempts> {
  const { connection, codec, onUnreadable, onRead, onFatal } = options
  const { recent, ofMessage } = createRecentAttempts({ most: MOST, mostBytes: MOST_BYTES })
  const listeners = new Set<(attempt: Attempt) => void>()
  const decode = decodeOrSkip(codec, onUnreadable)
  const tail = await openTail({
    connection,
    topics: [ATTEMPTS],
    last: (partitions) => Math.min(MOST, Math.ceil(MOST_READ / partitions)),
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
    ofMessage,
    onAttempt(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: tail.close,
  }
}

/** Decoded it takes a few hundred more, and where there is any character beyond Latin-1 twice as much. */
const bytesOf = (value: Buffer | null) => 500 + 2 * (value?.length ?? 0)

/** The attempts of late, in their order and by the call that they are of. */
export type RecentAttempts = {
  recent: RecentRecords<RecentAttempt>
  /** All that are held of a call, in any order. Another source may have sent the same messageId. */
  ofMessage(messageId: string): Iterable<Attempt>
}

export function createRecentAttempts({
  most,
  mostBytes,
}: {
  most: number
  mostBytes: number
}): RecentAttempts {
  const byMessage = new Map<string, Set<Attempt>>()
  const held = createRecentRecords<RecentAttempt>({
    most,
    mostBytes,
    bytesOf: ({ bytes }) => bytes,
    onDropped: forget,
  })

  function note({ attempt }: RecentAttempt): void {
    const its = byMessage.get(attempt.messageId) ?? new Set()
    byMessage.set(attempt.messageId, its.add(attempt))
  }

  function forget({ attempt }: RecentAttempt): void {
    const its = byMessage.get(attempt.messageId)
    its?.delete(attempt)
    if (its?.size === 0) byMessage.delete(attempt.messageId)
  }

  return {
    recent: {
      ...held,
      add(item) {
        // one that is too large is dropped as soon as it is added
        note(item)
        held.add(item)
      },
    },
    ofMessage: (messageId) => byMessage.get(messageId) ?? [],
  }
}

export type RecentAttempt = Place & { attempt: Attempt; bytes: number }

export const OUTCOMES = [
  'delivered',
  'rejected',
  'retry',
  'refused',
  'cancelled',
  'deferred',
] as const satisfies readonly AttemptOutcome[]

export const attemptsQueryShape = z.strictObject({
  ...rangeFields,
  destinationId: idShape.optional(),
  sourceId: idShape.optional(),
  outcome: z.enum(OUTCOMES).optional(),
  deliveryId: idField.optional(),
  messageId: idField.optional(),
})

const FIELDS = ['destinationId', 'sourceId', 'outcome', 'deliveryId', 'messageId'] as const

/** What is not asked for is all the same. */
export function matchesQuery(asked: z.infer<typeof attemptsQueryShape>): (held: RecentAttempt) => boolean {
  const fields = FIELDS.filter((field) => asked[field] !== undefined)
  return (held) => isWithin(held, asked) && fields.every((field) => held.attempt[field] === asked[field])
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
      .describe('Position of the webhook in the destination, from 0; null: none was chosen.'),
    attempt: z.number().describe('From 1, as in `X-Attempt`.'),
    startedAt: timeShape,
    durationMs: z.number().describe("Until the answer's headers, or the failure."),
    outcome: z.enum(OUTCOMES),
    status: z.number().nullable().describe('Of the answer, when there was one.'),
    code: z
      .string()
      .nullable()
      .describe('Why it was not delivered: `http_5xx`, `timeout`, `ECONNREFUSED` and the like.'),
    response: z.string().nullable().describe("The first 1,024 bytes of the answer's body."),
  })
  .meta({ id: 'Attempt' })

/** An attempt as it is answered; times are ISO 8601 UTC. */
export const attemptResponse = (attempt: Attempt): z.infer<typeof attemptShape> => ({
  ...attempt,
  startedAt: isoTime(attempt.startedAt),
})

/** As the deliverer had it when it logged it. */
export function outcomeOf({ outcome, status, code }: Attempt): Outcome {
  if (outcome === 'delivered') return { outcome, status: status ?? 0 }
  if (outcome === 'rejected') return { outcome, status: status ?? 0, code: code ?? '' }
  if (outcome === 'refused' || outcome === 'deferred') return { outcome, code: code ?? '' }
  return { outcome: 'retry', code: code ?? '', ...(status !== null && { status }) }
}
