import { z } from 'zod'
import type { OutRecord } from '../../kafka/produce.ts'
import { TASKS } from '../../schemas/topics.ts'
import type { Session } from '../auth.ts'

/**
 * Sessions that were signed out before their time, as topic `tasks` tells of them: JSON under the key `session/<id>`, until they would be over
 * anyway. Each control process follows that topic, so that an end is known everywhere within a second and outlives restarts.
 */
export type EndedSessions = {
  has(id: string): boolean
  /** Takes in a record of the topic. @returns false when it is none of a session. */
  apply(key: string, value: Buffer | undefined): boolean
  /** The ids of those that would be over by now. @param now ms since 1970. */
  surplus(now: number): string[]
}

const PREFIX = 'session/'
const endShape = z.object({ until: z.number() })

export function createEndedSessions(): EndedSessions {
  /** When each would be over, in seconds since 1970. */
  const ended = new Map<string, number>()
  return {
    has: (id) => ended.has(id),
    apply(key, value) {
      if (!key.startsWith(PREFIX)) return false
      const id = key.slice(PREFIX.length)
      if (value === undefined) ended.delete(id)
      // one that cannot be read has ended nevertheless
      else ended.set(id, untilIn(value))
      return true
    },
    surplus: (now) => [...ended].filter(([, until]) => until * 1000 < now).map(([id]) => id),
  }
}

function untilIn(value: Buffer): number {
  try {
    return endShape.parse(JSON.parse(value.toString())).until
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** From this record on the session is over. */
export const endOf = ({ id, until }: Session): OutRecord => ({
  topic: TASKS,
  key: PREFIX + id,
  value: JSON.stringify({ until }),
})

/** Nothing is kept of its end any more. */
export const forgottenEnd = (id: string): OutRecord => ({ topic: TASKS, key: PREFIX + id, value: null })
