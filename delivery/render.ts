import { printContext, printProperties } from '../rules/call.ts'
import type { Event } from '../schemas/event.ts'

/**
 * Keys are in the order of docs/guides/receivers.md, "The body". Equals JSON.stringify's output, as receivers sign
 * `JSON.stringify(JSON.parse(body))`. JSON columns are inserted unparsed.
 */
export function render(event: Event): string {
  switch (event.type) {
    case 'page':
      return versioned(event, user(event) + json('properties', printProperties(event)) + end(event))
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
const end = (event: Event) => timestamp(event) + json('context', printContext(event))
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

/** The name has a separate key. Empty properties are left out. */
function screenProperties(event: Event): string {
  const properties = printProperties(event)
  return properties === null ? '' : json('properties', properties)
}
