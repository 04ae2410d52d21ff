import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { OutRecord } from '../../../kafka/produce/produce.ts'
import { TASKS } from '../../../schemas/topics.ts'
import type { Who } from '../../../settings/mask.ts'
import type { Keys } from '../../../settings/seal.ts'
import type { Session, Tokens } from './tokens.ts'

/** Sessions that no process keeps: who it is, which one and until when, signed. What one instance has issued any other knows. */
export type Sessions = {
  /** Good for `SESSION_S` from now, unless it is ended before. @param now ms since 1970. */
  issue(who: Who, now: number): { cookie: string; session: Session }
  /** Undefined: it is over or ended, another's, or of a token that has changed since. @param now ms since 1970. */
  read(cookie: string, now: number): { who: Who; session: Session } | undefined
}

export const SESSION_S = 12 * 60 * 60
const ID_BYTES = 12

/**
 * @param keys CONFIG_KEY: the first signs, all verify. Without it nobody can make one, whoever knows a token.
 * @param isEnded whether the session of this id was signed out.
 */
export function createSessions(keys: Keys, tokens: Tokens, isEnded: (id: string) => boolean): Sessions {
  const derived = { admin: derive(keys, tokens.admin), view: derive(keys, tokens.view) }

  return {
    issue(who, now) {
      const [key] = derived[who]
      if (!key) throw new Error(`nobody signs in as ${who}: there is no such token`)
      const session = {
        id: randomBytes(ID_BYTES).toString('base64url'),
        until: Math.floor(now / 1000) + SESSION_S,
      }
      const claim = `${who}.${session.until}.${session.id}`
      return { cookie: `${claim}.${sign(claim, key).toString('base64url')}`, session }
    },

    read(cookie, now) {
      const [, claim = '', name, until = '', id = '', signature = ''] =
        /^((admin|view)\.(\d{1,12})\.([\w-]{16}))\.([\w-]{43})$/.exec(cookie) ?? []
      const who: Who = name === 'admin' ? 'admin' : 'view'
      const given = Buffer.from(signature, 'base64url')
      const isSigned = derived[who].some(
        (key) => given.length === 32 && timingSafeEqual(sign(claim, key), given),
      )
      if (!isSigned || Number(until) * 1000 <= now || isEnded(id)) return undefined
      return { who, session: { id, until: Number(until) } }
    },
  }
}

/** Of each key one for this alone, and for this token: another token makes another. */
function derive(keys: Keys, token: string | undefined): Buffer[] {
  if (!token) return []
  return keys.map((key) => Buffer.from(hkdfSync('sha256', key, token, 'sluice control session', 32)))
}

const sign = (claim: string, key: Buffer): Buffer => createHmac('sha256', key).update(claim).digest()

/**
 * Sessions that were signed out before their time, as topic `tasks` tells of them: JSON under the key `session/<id>`, until they would be over
 * anyway. Each control process follows that topic, so that an end is known everywhere within a second and outlives restarts.
 */
export type EndedSessions = {
  has(id: string): boolean
  /** Takes in a record of the topic. @returns false when it is none of a session. */
  apply(key: string, value: Buffer | undefined): boolean
  /** The ids of those that would be over by now. @param now ms since 1970. */
  expired(now: number): string[]
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
    expired: (now) => [...ended].filter(([, until]) => until * 1000 < now).map(([id]) => id),
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
export const endRecord = ({ id, until }: Session): OutRecord => ({
  topic: TASKS,
  key: PREFIX + id,
  value: JSON.stringify({ until }),
})

/** Nothing is kept of its end any more. */
export const endTombstone = (id: string): OutRecord => ({ topic: TASKS, key: PREFIX + id, value: null })
