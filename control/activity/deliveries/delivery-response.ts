import { z } from 'zod'
import { request } from '../../../delivery/request.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import type { Delivery } from '../../../schemas/delivery.ts'
import { MASK, mask, type Who } from '../../../settings/mask.ts'
import type { Destination } from '../../../settings/settings.ts'
import { isoTime, timeShape } from '../../api/response.ts'
import { attemptResponse, attemptShape } from '../attempts.ts'
import { deadResponse, deadShape, letterId } from '../dead/dead-letter.ts'
import { DELIVERY_STATES } from '../events/delivery-status.ts'
import { shownBody, shownEvent } from '../records/shown-body.ts'
import type { Listed } from './listed.ts'
import type { Status } from './status.ts'

const listedFields = {
  id: z.string().describe('Names this entry in `GET /api/deliveries/{id}` and in replays.'),
  deliveryId: z.string().describe('As in `X-Delivery-Id`. A replay keeps it, but has an entry of its own.'),
  messageId: z.string().describe('Id of the call, as in `X-Message-Id`.'),
  sourceId: z.string(),
  destinationId: z.string(),
  type: z.string(),
  event: z.string().nullable().describe('Name of a track event, a page or a screen.'),
  user: z.string().nullable().describe('The userId, or else the anonymousId.'),
  routedAt: timeShape.describe('When the router, a replay or a backfill made it.'),
  replay: z.boolean().describe('Whether a replay or backfill made it.'),
  state: z
    .enum(DELIVERY_STATES)
    .describe(
      '`waiting`: not attempted yet. `deferred`: waits without an attempt. `held`: it fell due while its destination was paused. `rejected`: the receiver answered 3xx or 4xx. `unknown`: its attempts are no longer known, or were not found in time.',
    ),
  attemptCount: z
    .number()
    .describe(
      'Known POSTs to all webhooks. At least the number of the last attempt, because earlier ones may be forgotten.',
    ),
  lastStatus: z.number().nullable().describe('HTTP status of the last attempt, if there was a response.'),
  lastCode: z.string().nullable().describe('Why the last attempt failed.'),
  lastAttemptAt: timeShape,
  deadLetter: z
    .string()
    .nullable()
    .describe('Id of its dead letter, for `entries` of a replay. Null: none is known.'),
  nextAttemptAt: timeShape.describe(
    'By the retry ladder. Null: no attempt follows, or the delivery is deferred or held and only the deliverer knows until when.',
  ),
}

export const listedShape = z.strictObject(listedFields).meta({ id: 'Delivery' })

export const deliveryShape = z
  .strictObject({
    ...listedFields,
    attempts: z.array(attemptShape).describe('Known attempts, oldest first.'),
    dead: deadShape.nullable(),
    body: z
      .string()
      .describe(
        'What every attempt posts, byte for byte. With the view token, the texts of a shape are `***`.',
      ),
    requests: z
      .array(
        z.strictObject({ urlIndex: z.number(), url: z.string(), headers: z.record(z.string(), z.string()) }),
      )
      .describe(
        'The request to each webhook, with the settings as they are now. Configured header values and signatures are `***`. Empty if the destination was deleted.',
      ),
  })
  .meta({ id: 'DeliveryDetails' })

/** `destination`: undefined if it was deleted. */
type Shown = { destination: Destination | undefined; who: Who }

export function listedResponse(
  listed: Listed,
  { state, attempts, nextAttemptAt, dead }: Status,
  { destination, who }: Shown,
): z.infer<typeof listedShape> {
  const last = attempts.at(-1)
  return {
    ...listed,
    event: shownEvent(listed.event, destination, who),
    routedAt: isoTime(listed.routedAt),
    state,
    attemptCount: postCount(attempts),
    lastStatus: last?.status ?? null,
    lastCode: last?.code ?? null,
    lastAttemptAt: last ? isoTime(last.startedAt) : null,
    deadLetter: dead ? letterId(dead) : null,
    nextAttemptAt: isoTime(nextAttemptAt),
  }
}

export function deliveryResponse(
  { listed, delivery }: { listed: Listed; delivery: Delivery },
  status: Status,
  { now, ...shown }: Shown & { now: number },
): z.infer<typeof deliveryShape> {
  const { attempts, dead } = status
  const { destination, who } = shown
  const attempt = attempts.at(-1)?.attempt ?? 1
  return {
    ...listedResponse(listed, status, shown),
    attempts: attempts.map(attemptResponse),
    dead: dead ? deadResponse(dead) : null,
    body: shownBody(delivery, destination, who),
    requests: destination ? maskedRequests(delivery, { destination, attempt, now, who }) : [],
  }
}

/** Earlier POSTs may no longer be in memory. The number of a later one still counts those to one webhook. */
function postCount(attempts: readonly Attempt[]): number {
  const posts = attempts.filter(({ outcome }) => outcome !== 'deferred' && outcome !== 'cancelled')
  return Math.max(posts.length, ...posts.map(({ attempt }) => attempt))
}

const SIGNATURES = new Set(['x-signature', 'x-signature-previous', 'webhook-signature'])

/**
 * Built by the code that sends them.
 * @param of.attempt as in `X-Attempt`.
 */
function maskedRequests(
  delivery: Delivery,
  { destination, who, ...of }: { destination: Destination; attempt: number; now: number; who: Who },
): z.infer<typeof deliveryShape>['requests'] {
  const masked = mask(destination, who)
  return masked.webhooks.map((_, urlIndex) => {
    const { url, headers } = request(delivery, { destination: masked, urlIndex, ...of })
    const shown = Object.entries(headers).map(([name, value]) => [
      name,
      SIGNATURES.has(name.toLowerCase()) ? MASK : value,
    ])
    return { urlIndex, url, headers: Object.fromEntries(shown) }
  })
}
