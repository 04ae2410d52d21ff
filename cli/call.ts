import { CliFault } from './fault.ts'
import { timeOf } from './time.ts'

export const TYPES = ['identify', 'track', 'page', 'screen', 'group', 'alias'] as const

/** As they stand on the command line. */
export type CallOptions = {
  user?: string
  anonymous?: string
  event?: string
  name?: string
  category?: string
  group?: string
  previous?: string
  properties?: string
  traits?: string
  context?: string
  messageId?: string
  timestamp?: string
}

export type Call = { type: (typeof TYPES)[number]; body: Record<string, unknown> & { messageId: string } }

/** The call that options describe; whether it is a valid one ingest says. `now`: milliseconds since 1970. @throws CliFault usage */
export function callOf(text: string, options: CallOptions, by: { now: number; newId: () => string }): Call {
  const type = TYPES.find((each) => each === text)
  if (!type) throw new CliFault('usage', `"${text}" is no type of call: give one of ${TYPES.join(', ')}`)
  const given = {
    userId: options.user,
    anonymousId: options.anonymous,
    event: options.event,
    name: options.name,
    category: options.category,
    groupId: options.group,
    previousId: options.previous,
    properties: objectOf('--properties', options.properties),
    traits: objectOf('--traits', options.traits),
    context: objectOf('--context', options.context),
    timestamp: timeOf(options.timestamp, by.now),
  }
  const fields = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  return { type, body: { messageId: options.messageId ?? by.newId(), ...fields } }
}

function objectOf(option: string, text: string | undefined): object | undefined {
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // told below
  }
  throw new CliFault('usage', `${option} takes a JSON object like '{"plan": "pro"}', and not ${text}`)
}
