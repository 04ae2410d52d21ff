import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import { allowsWebhooks } from '../../../delivery/routing/routing.ts'
import type { CompiledRules, RulesResult } from '../../../rules/compile.ts'
import { rulesShape } from '../../../rules/rules.ts'
import type { Codec } from '../../../schemas/codec.ts'
import type { Event } from '../../../schemas/event.ts'
import { EVENTS } from '../../../schemas/topics.ts'
import { EVENT_TYPES, idShape } from '../../../settings/settings.ts'
import { isoTime, timeShape } from '../../api/response.ts'
import type { Searching, SearchParts } from '../events/search.ts'
import { decoded } from '../events/search.ts'
import type { Part, Searched } from '../events/search-backwards.ts'
import { sourceOf } from '../records/subject.ts'

const MAX_EVENTS = 200

export const previewShape = z
  .strictObject({
    rules: rulesShape,
    sourceIds: z.array(idShape).min(1, 'at least one source').max(1_000),
    last: z
      .number()
      .int()
      .min(1)
      .max(MAX_EVENTS)
      .default(50)
      .describe(
        'Maximum number of events: the newest ones that the search finds and the rules run on in time.',
      ),
    eventTypes: z
      .array(z.enum(EVENT_TYPES))
      .min(1, 'at least one type; leave it out for all')
      .optional()
      .describe('Default: all types.'),
    destinationId: idShape
      .optional()
      .describe('The destination whose key `hash` uses. Default: a random key.'),
  })
  .meta({ id: 'RulesPreviewRequest' })

export type PreviewRequest = z.infer<typeof previewShape>

const OUTCOMES = ['sent', 'filtered', 'sampled_out', 'failed'] as const

const text = z.string().nullable()

const previewItem = z
  .strictObject({
    messageId: z.string(),
    sourceId: z.string(),
    type: z.enum(EVENT_TYPES),
    event: text.describe('Name of a track event. Null for other types.'),
    receivedAt: timeShape,
    outcome: z.enum(OUTCOMES),
    condition: text.describe(
      'With `filtered`: JSON pointer into the rules, to the deciding condition. Otherwise null.',
    ),
    message: text.describe(
      'With `failed`: why the rules failed. With `sent`: why the body is left out, if it is. Otherwise null.',
    ),
    body: text.describe(
      'With `sent`: the body that every attempt would post. Null if the answer would exceed 4 MB of bodies.',
    ),
  })
  .meta({ id: 'RulesPreviewItem' })

export const previewAnswer = z
  .strictObject({
    items: z.array(previewItem).describe('Newest first.'),
    searchedSince: timeShape.describe(
      'How far back the preview went: it covers everything received since then, or everything if null. If there are fewer events than `last`, there was no time to find more, or to run the rules on more.',
    ),
  })
  .meta({ id: 'RulesPreview' })

/** For one answer, in characters. */
const MAX_BODIES = 4 * 1024 * 1024
const LEFT_OUT = 'The body is left out, because the answer would exceed 4 MB of bodies.'

/** For all events; one may take 0.1 s. */
const MAX_RUN_MS = 2_000

/**
 * Runs rules as the router does, and lets other requests run in between.
 * @param clock in ms.
 */
export async function previewOf(
  { items, searchedSince }: Searched<Event>,
  rules: CompiledRules,
  clock = () => performance.now(),
): Promise<z.infer<typeof previewAnswer>> {
  const begun = clock()
  let left = MAX_BODIES
  const previewed: PreviewItem[] = []
  for (const event of items) {
    if (clock() - begun > MAX_RUN_MS) break
    const item = itemOf(event, rules.run(event))
    left -= item.body?.length ?? 0
    previewed.push(left >= 0 || item.body === null ? item : { ...item, body: null, message: LEFT_OUT })
    await nextTurn()
  }
  const since = previewed.length < items.length ? items[previewed.length - 1]?.receivedAt : searchedSince
  return { items: previewed, searchedSince: isoTime(since) }
}

type PreviewItem = z.infer<typeof previewItem>

function itemOf({ messageId, sourceId, type, event, receivedAt }: Event, result: RulesResult): PreviewItem {
  const { outcome } = result
  const about = { messageId, sourceId, type, event, receivedAt: isoTime(receivedAt), outcome }
  const none = { condition: null, message: null, body: null }
  if (outcome === 'filtered') return { ...about, ...none, condition: result.condition }
  if (outcome === 'failed') return { ...about, ...none, message: result.message }
  return { ...about, ...none, ...(outcome === 'sent' && { body: result.body }) }
}

export type EventsBySource = {
  /** The newest events of these types that webhooks may get. Undefined: too many searches are running. */
  latest(
    asked: Pick<PreviewRequest, 'sourceIds' | 'eventTypes' | 'last'>,
  ): Promise<Searched<Event>> | undefined
}

export function createLatestEvents(searching: Searching, events: SearchParts['events']): EventsBySource {
  return {
    latest: ({ sourceIds, eventTypes, last }) =>
      searching({
        parts: [partFor({ sourceIds, eventTypes }, events)],
        limit: last,
        cursor: undefined,
        since: undefined,
        until: undefined,
        // the key identifies events of other sources
        isNarrow: false,
      }),
  }
}

function partFor(
  { sourceIds, eventTypes }: Pick<PreviewRequest, 'sourceIds' | 'eventTypes'>,
  { reader, codec }: { reader: SearchParts['events']['reader']; codec: Pick<Codec<Event>, 'decode'> },
): Part<Event> {
  const sources = new Set(sourceIds)
  const matches = ({ type, integrations }: Event) =>
    (eventTypes?.includes(type) ?? true) && allowsWebhooks(integrations)
  return {
    topic: EVENTS,
    isSearched: () => true,
    read: reader.read,
    find(value, key) {
      if (!value || !key || !sources.has(sourceOf(key))) return undefined
      return decoded(codec, value, (event) => (matches(event) ? event : undefined))
    },
  }
}
