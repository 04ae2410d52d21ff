import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Logger } from '../../../process/log.ts'
import { createSlices, type Slices } from '../../../process/slices.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import type { Delivery, PastAttempt } from '../../../schemas/delivery.ts'
import type { Replay } from '../../../schemas/task.ts'
import type { Who } from '../../../settings/mask.ts'
import type { Facts } from '../../../settings/resources/resource.ts'
import { seenBy } from '../../../settings/resources/workspaces.ts'
import type { Destination } from '../../../settings/settings.ts'
import type { Caller } from '../../api/auth/tokens.ts'
import { addPath, operation } from '../../api/operation.ts'
import { pageOf } from '../../api/pagination.ts'
import { type ApiResponse, isoTime, timeShape } from '../../api/response.ts'
import { type AttemptRouteParts, OUTCOMES } from '../attempts.ts'
import { answered, type SearchParts, searchRefusal } from '../records/following.ts'
import { shownBody, shownEvent } from '../records/shown-body.ts'
import {
  type DeadLetter,
  type DeadQuery,
  deadFields,
  deadQueryShape,
  deadResponse,
  letterId,
  matchesQuery,
} from './dead-letter.ts'
import { type DeadLetters, isStillInTopic } from './follow.ts'
import { type ReplayOf, rememberedReplayIndex } from './replayed.ts'

const afterwardsShape = z.strictObject({ outcome: z.enum(OUTCOMES), at: timeShape })

const pastShape = z.strictObject({
  attempt: z.number(),
  urlIndex: z.number(),
  startedAt: timeShape,
  durationMs: z.number(),
  outcome: z.string(),
  status: z.number().nullable(),
  code: z.string().nullable(),
})

const deadLetterShape = z
  .strictObject({
    id: z.string().describe('For `entries` of a replay.'),
    deliveryId: z.string(),
    messageId: z.string(),
    destinationId: z.string(),
    event: z
      .string()
      .nullable()
      .describe('Name of a track event, a page or a screen; the first 256 characters.'),
    user: z.string().nullable().describe('The userId, or else the anonymousId; the first 256 characters.'),
    ...deadFields,
    replayed: z
      .strictObject({ id: z.string(), at: timeShape })
      .nullable()
      .describe('The latest replay that sent it; null: no replay has sent it.'),
    attempts: z.array(pastShape),
    body: z
      .string()
      .nullable()
      .describe(
        'What every attempt posted; null if it has expired from the topic. With the view token, the texts of a shape are `***`.',
      ),
    afterwards: afterwardsShape
      .nullable()
      .describe('Result of a replay, as far as recent attempts show it; null: none yet.'),
  })
  .meta({ id: 'DeadLetter' })

const countShape = z.strictObject({ destinationId: z.string(), reason: z.string(), count: z.number() })

export type DeadRouteParts = {
  dead: Omit<DeadLetters, 'readSince' | 'close'>
  tasks: { replays: ReadonlyMap<string, Replay> }
  tokenLimits: SearchParts['tokenLimits']
  log: Pick<Logger, 'warn' | 'info'>
}

const answerShape = pageOf(deadLetterShape).extend({
  counts: z.array(countShape),
  matching: z
    .array(z.strictObject({ destinationId: z.string(), count: z.number() }))
    .describe(
      'How many deliveries match the filter, by destination, over all pages. A delivery that died twice counts once.',
    ),
  partial: z.boolean().describe('Whether the topic has more dead letters than are counted.'),
  oldest: timeShape,
})

type Parts = DeadRouteParts & AttemptRouteParts & { settings: Pick<Facts, 'destinations'> }

export function deadRoutes(api: FastifyInstance, parts: Parts): void {
  const { dead, log, tasks, tokenLimits } = parts
  const indexOf = rememberedReplayIndex()
  const slices = createSlices()
  addPath(api, '/dead', {
    GET: operation({
      summary: 'List dead letters',
      description:
        '`counts` covers the last 100,000, by destination and reason; `partial` says that there are more. `items` come newest first.',
      query: deadQueryShape,
      responses: { 200: { description: 'Counts, and a page.', body: answerShape } },
      errorCodes: ['too_many_searches'],
      inWorkspace: true,
      handle({ query, caller }) {
        const refused = searchRefusal(caller, { tokenLimits, log }, query)
        if (refused) return refused
        return answered(
          [dead],
          () => respond(query, { ...parts, caller, replayOf: indexOf(tasks.replays.values()), slices }),
          (err) => log.warn({ err }, 'dead letters could not be read'),
        )
      },
    }),
  })
}

/** All pages share `slices`. */
type Responding = Parts & { replayOf: ReplayOf; caller: Caller; slices: Slices }

async function respond(
  query: DeadQuery,
  { dead, attempts, settings, replayOf, caller, slices }: Responding,
): Promise<ApiResponse> {
  const firstOffsets = await dead.firstOffsets()
  const isSeen = seenBy(caller, settings.destinations)
  const isThere = (letter: DeadLetter) => isSeen(letter) && isStillInTopic(firstOffsets, letter)
  const there = dead.recent.all().filter(isThere)
  const matches = matchesQuery(query, replayOf)
  const { items, next } = dead.recent.page({
    ...query,
    matches: (letter) => matches(letter) && isThere(letter),
  })
  const bodies = await dead.readBodies(items)
  const shown: Shown[] = []
  for (const letter of items) {
    // a body of 256 KB takes up to 25 ms to mask
    if (slices.isSpent()) await slices.next()
    shown.push(
      deadLetterResponse(letter, {
        delivery: bodies.get(letter),
        destination: settings.destinations.get(letter.destinationId),
        who: caller.who,
        replay: replayOf(letter),
        afterwards: afterwards(letter, attempts.ofMessage(letter.messageId)),
      }),
    )
  }
  const oldest = dead.recent.oldest()
  return {
    status: 200,
    body: {
      counts: counts(there),
      matching: matching(there.filter(matches)),
      partial: dead.isPartial(firstOffsets),
      oldest: oldest === null || there.length === 0 ? null : isoTime(oldest),
      items: shown,
      next,
    },
  }
}

export type Count = z.infer<typeof countShape>

/** Largest first. */
function counts(letters: Iterable<DeadLetter>): Count[] {
  const found = new Map<string, Count>()
  for (const { destinationId, reason } of letters) {
    const key = `${destinationId}/${reason}`
    const known = found.get(key)
    if (known) known.count += 1
    else found.set(key, { destinationId, reason, count: 1 })
  }
  return [...found.values()].sort((a, b) => b.count - a.count || (keyOf(a) < keyOf(b) ? -1 : 1))
}

const keyOf = ({ destinationId, reason }: Count) => `${destinationId}/${reason}`

/** Largest first. */
function matching(letters: readonly DeadLetter[]): { destinationId: string; count: number }[] {
  return [...Map.groupBy(letters, ({ destinationId }) => destinationId)]
    .map(([destinationId, of]) => ({
      destinationId,
      // users whose calls share a messageId share a deliveryId
      count: new Set(of.map(({ deliveryId, user }) => `${deliveryId} ${user}`)).size,
    }))
    .sort((a, b) => b.count - a.count)
}

type Shown = z.infer<typeof deadLetterShape>

/**
 * Holds users' data, but no secret of the destination.
 * @param delivery undefined if expired.
 */
function deadLetterResponse(
  letter: DeadLetter,
  {
    delivery,
    destination,
    who,
    replay,
    ...known
  }: {
    delivery: Delivery | undefined
    destination: Pick<Destination, 'rules'> | undefined
    who: Who
    replay: Replay | undefined
    afterwards: ReturnType<typeof afterwards>
  },
): Shown {
  const { deliveryId, messageId, destinationId, user } = letter
  const event = shownEvent(letter.event, destination, who)
  const attempts = delivery?.history.map(pastAttemptResponse) ?? []
  const body = delivery ? shownBody(delivery, destination, who) : null
  const replayed = replay ? { id: replay.id, at: replay.createdAt } : null
  const of = { id: letterId(letter), deliveryId, messageId, destinationId, event, user }
  return { ...of, ...deadResponse(letter), replayed, attempts, body, ...known }
}

const pastAttemptResponse = (past: PastAttempt) => ({ ...past, startedAt: isoTime(past.startedAt) })

/**
 * The result of a replay: delivered, or the outcome of its last attempt; null: no attempt since it was given up.
 * @param attempts all attempts for the message.
 */
export function afterwards(
  { deliveryId, time }: Pick<DeadLetter, 'deliveryId' | 'time'>,
  attempts: Iterable<Pick<Attempt, 'deliveryId' | 'startedAt' | 'outcome'>>,
): z.infer<typeof afterwardsShape> | null {
  const later = [...attempts]
    .filter((attempt) => attempt.deliveryId === deliveryId && attempt.startedAt > time)
    .sort((a, b) => a.startedAt - b.startedAt)
  const last = later.find(({ outcome }) => outcome === 'delivered') ?? later.at(-1)
  return last ? { outcome: last.outcome, at: isoTime(last.startedAt) } : null
}
