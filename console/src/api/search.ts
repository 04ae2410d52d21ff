import type { components } from './schema.ts'

export type FoundEvent = components['schemas']['Event']
export type Fate = FoundEvent['destinations'][number]

export const BY = ['messageId', 'userId', 'anonymousId', 'deliveryId'] as const
export type By = (typeof BY)[number]
/** `around`: ISO 8601, when it came in, to half an hour. */
export type Search = { by: By; value: string; sourceId?: string; around?: string }

const HALF_HOUR_MS = 30 * 60_000

/** As the API is asked for it. */
export function queryOf({ by, value, sourceId, around }: Search) {
  const at = around === undefined ? Number.NaN : Date.parse(around)
  return {
    [by]: value,
    ...(sourceId !== undefined && { sourceId }),
    ...(!Number.isNaN(at) && within(at, { before: HALF_HOUR_MS, after: HALF_HOUR_MS })),
  }
}

const within = (at: number, { before, after }: { before: number; after: number }) => ({
  since: new Date(at - before).toISOString(),
  until: new Date(at + after).toISOString(),
})

/** What is searched for, as a page's address says it. */
export function searchIn(params: URLSearchParams): Search | undefined {
  const by = BY.find((name) => params.get(name))
  const [sourceId, around] = [params.get('sourceId'), params.get('around')]
  return by && { by, value: params.get(by) ?? '', ...(sourceId && { sourceId }), ...(around && { around }) }
}

/** It may change by itself: an attempt is to come. */
export const isOpen = ({ destinations }: FoundEvent): boolean =>
  destinations.some(({ state }) => state === 'waiting' || state === 'retrying')

export const eventKey = ({ sourceId, messageId, receivedAt }: FoundEvent): string =>
  [sourceId, messageId, receivedAt].join(' ')

/** A call is written when it has come in, as far as clocks agree. */
const NEAR = { before: 5_000, after: 20_000 }

/** Where an event that was found lies. @returns undefined: it says too little of itself. */
export const placeOf = ({ sourceId, messageId, receivedAt }: FoundEvent) =>
  messageId === null || receivedAt === null
    ? undefined
    : { sourceId, messageId, ...within(Date.parse(receivedAt), NEAR) }

/** Events, with what is known of them now in place of what was known when they were found. */
export function refreshed(found: readonly FoundEvent[], now: readonly FoundEvent[]): FoundEvent[] {
  const byKey = new Map(now.map((event) => [eventKey(event), event]))
  return found.map((event) => (event.rejected ? event : (byKey.get(eventKey(event)) ?? event)))
}
