import { SAMPLE_CALLS } from '../../../../control/settings/sample-calls.ts'
import { EVENT_TYPES, type TestSend } from '../../api/destinations.ts'
import type { FoundEvent } from '../../api/events.ts'
import { localTime } from '../../wording/format.ts'

/** `text`: a call as indented JSON; undefined for a deletion. `omitted`: fields too long to show. */
export type Payload = { id: string; label: string; text: string | undefined; omitted: readonly string[] }

const TYPES = EVENT_TYPES.filter((type) => type !== 'delete')

const textOf = (call: object) => JSON.stringify(call, null, 2)

export const SAMPLES: readonly [Payload, ...Payload[]] = [
  { id: 'sample track', label: 'Sample track', text: textOf(SAMPLE_CALLS.track), omitted: [] },
  ...TYPES.slice(1).map((type) => ({
    id: `sample ${type}`,
    label: `Sample ${type}`,
    text: textOf(SAMPLE_CALLS[type]),
    omitted: [],
  })),
  { id: 'sample delete', label: 'Sample delete', text: undefined, omitted: [] },
]

/** A test has its own id, and goes only to this destination. */
const IGNORED = ['messageId', 'integrations', 'receivedAt', 'sentAt', 'originalTimestamp', 'omitted']

/** The calls among the events. Deletions are not calls. */
export const recentPayloads = (events: readonly FoundEvent[]): Payload[] =>
  events
    .filter(({ type }) => TYPES.some((one) => one === type))
    .map(({ messageId, type, userId, anonymousId, receivedAt, call, ...event }) => {
      const name = event.event ?? event.name
      const shown = Object.entries(call).filter(([field]) => !IGNORED.includes(field))
      return {
        id: `recent ${messageId} ${receivedAt}`,
        label: [
          `${type}${name === null ? '' : ` “${name}”`} from ${userId ?? anonymousId}`,
          ...(receivedAt === null ? [] : [localTime(receivedAt)]),
        ].join(', '),
        text: textOf(Object.fromEntries(shown)),
        omitted: 'omitted' in call && Array.isArray(call.omitted) ? call.omitted.map(String) : [],
      }
    })

export function toBody(
  { text: original }: Payload,
  text: string,
): TestSend | { call: unknown } | SyntaxError {
  if (original === undefined) return { type: 'delete' }
  try {
    return { call: JSON.parse(text) }
  } catch (error) {
    return error instanceof SyntaxError ? error : new SyntaxError(String(error))
  }
}
