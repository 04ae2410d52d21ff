import { parseJson } from '../process/parse-json.ts'
import type { Event } from '../schemas/event.ts'

/**
 * Keys are in the order of docs/guides/receivers.md, "The body". Equals JSON.stringify's output, as receivers sign
 * `JSON.stringify(JSON.parse(body))`. JSON columns are inserted unparsed.
 */
export function render(event: Event): string {
  switch (event.type) {
    case 'page':
      return versioned(event, user(event) + json('properties', pageProperties(event)) + end(event))
    case 'screen':
      return versioned(event, user(event) + name(event) + screenProperties(event) + end(event))
    case 'identify':
      return versioned(event, user(event) + json('traits', event.traits) + end(event))
    case 'track':
      return versioned(
        event,
        user(event) + text('event', event.event ?? '') + json('properties', event.properties) + end(event),
      )
    case 'alias':
      return versioned(
        event,
        text('Previous ID', event.previousId ?? '') + text('User ID', event.userId ?? '') + end(event),
      )
    case 'group':
      return versioned(
        event,
        text('groupId', event.groupId ?? '') + user(event) + json('traits', event.traits) + end(event),
      )
    case 'delete':
      return `{"type":"delete"${user(event)}${timestamp(event)}}`
  }
}

// members begin with a comma, so that texts are joined once, without a list
const versioned = ({ type }: Event, members: string) => `{"version":1,"type":"${type}"${members}}`
const text = (key: string, value: string) => `,"${key}":${JSON.stringify(value)}`
const json = (key: string, value: string | null) => `,"${key}":${value ?? '{}'}`
const timestamp = (event: Event) => `,"timestamp":"${isoOf(event.timestamp)}"`
const end = (event: Event) => timestamp(event) + json('context', withoutIntegrations(event.context))
const name = (event: Event) => (event.name === null ? '' : text('name', event.name))

const MINUTE = 60_000
let minute = { begins: Number.NaN, text: '' }

/** Like `Date.toISOString`, but cheaper if consecutive times are in the same minute. */
function isoOf(ms: number): string {
  const begins = Math.floor(ms / MINUTE) * MINUTE
  if (begins !== minute.begins)
    minute = { begins, text: new Date(ms).toISOString().slice(0, -'00.000Z'.length) }
  const rest = String(100_000 + ms - begins)
  return `${minute.text}${rest.slice(1, 3)}.${rest.slice(3)}Z`
}

function user({ userId, anonymousId }: Event): string {
  if (userId !== null) return text('userId', userId)
  return anonymousId === null ? '' : text('anonymousId', anonymousId)
}

function pageProperties({ properties, name, category }: Event): string | null {
  return withAdded(properties, { name, category })
}

/** The name has a separate key. Empty properties are left out. */
function screenProperties({ properties, category }: Event): string {
  const all = withAdded(properties, { category })
  return all === null ? '' : json('properties', all)
}

function withAdded(properties: string | null, more: Record<string, string | null>): string | null {
  if (Object.values(more).every((value) => value === null)) return properties
  const all = parseJson(properties ?? '{}') as Record<string, unknown>
  for (const [key, value] of Object.entries(more))
    if (value !== null && !Object.hasOwn(all, key)) all[key] = value
  return JSON.stringify(all)
}

/** Some libraries put the Integrations object, which is meant for Sluice, into the context. */
function withoutIntegrations(context: string | null): string | null {
  // without the leading quote, the search is three times as fast and finds the same
  if (!context?.includes('integrations":')) return context
  const parsed = parseJson(context) as Record<string, unknown>
  delete parsed.integrations
  return JSON.stringify(parsed)
}
