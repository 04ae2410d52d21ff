import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { OutRecord } from '../../../kafka/produce/produce.ts'
import { TASKS } from '../../../schemas/topics.ts'
import type { Who } from '../../../settings/mask.ts'
import type { Keys } from '../../../settings/seal.ts'
import type { Identity, Session, Tokens } from './tokens.ts'

export type SignedIn = Identity & { session: Session }

/**
 * Signed text with role, person or workspace, id and expiry, valid at every instance. Session cookies and workspace
 * tokens have this format, so signing out ends both.
 */
export type Sessions = {
  /** Valid for `SESSION_S` unless ended earlier. @param by.until seconds since 1970, if it is to end sooner. */
  issue(of: Identity, by: { now: number; until?: number | undefined }): { text: string; session: Session }
  /**
   * @param now ms since 1970. Without it, also reads sessions that have expired.
   * @returns undefined if expired, ended, forged, or issued for a token or allow lists that have changed, or by a
   *   clock that is far ahead.
   */
  read(text: string, now?: number): SignedIn | undefined
}

export const SESSION_S = 12 * 60 * 60
const ID_BYTES = 12
/**
 * The most by which two clocks may differ: one is an hour behind Kafka's, the other an hour ahead. With a larger
 * difference, Kafka refuses our writes (kafka/admin/topics.ts).
 */
const SKEW_S = 2 * 60 * 60

/** After `~`, the person's name in base64url. */
const SIGNED_TEXT =
  /^((?:(admin|view)(?:~([\w-]{1,1100}))?|workspace:([a-z0-9_-]{1,64}))\.(\d{1,12})\.([\w-]{16}))\.([\w-]{43})$/

/** @param keys derived from CONFIG_KEY: the first signs, all verify. A token alone cannot forge a session. */
export function createSessions(keys: Keys, tokens: Tokens, isEnded: (id: string) => boolean): Sessions {
  const derived: Record<Who | 'person', Buffer[]> = {
    admin: derive(keys, tokens.admin, 'sluice control session'),
    view: derive(keys, tokens.view, 'sluice control session'),
    // made with the admin token, so they end when it changes
    workspace: derive(keys, tokens.admin, 'sluice workspace token'),
    // end when the admin token changes, or the settings that decide who may sign in
    person:
      tokens.singleSignOn === undefined
        ? []
        : derive(keys, tokens.admin, `sluice single sign-on ${tokens.singleSignOn}`),
  }
  const keysOf = ({ who, person }: Identity) => derived[person === undefined ? who : 'person']

  return {
    issue(identity, { now, until = Math.floor(now / 1000) + SESSION_S }) {
      const [key] = keysOf(identity)
      if (!key) throw new Error(`cannot sign in as ${identity.who}: that is not configured`)
      const session = { id: randomBytes(ID_BYTES).toString('base64url'), until }
      const claim = `${subjectOf(identity)}.${session.until}.${session.id}`
      return { text: `${claim}.${sign(claim, key)}`, session }
    },

    read(text, now) {
      const [, claim = '', role, name, workspaceId, until = '', id = '', signature = ''] =
        SIGNED_TEXT.exec(text) ?? []
      const who: Who = workspaceId === undefined ? (role === 'admin' ? 'admin' : 'view') : 'workspace'
      const person = name && Buffer.from(name, 'base64url').toString()
      const identity = { who, ...(workspaceId !== undefined && { workspaceId }), ...(person && { person }) }
      // as text: the last character has bits that decoding ignores
      const isSigned = keysOf(identity).some(
        (key) => signature !== '' && timingSafeEqual(Buffer.from(sign(claim, key)), Buffer.from(signature)),
      )
      if (!isSigned || isEnded(id)) return undefined
      if (now !== undefined && !isCurrent(Number(until), now)) return undefined
      return { ...identity, session: { id, until: Number(until) } }
    },
  }
}

function subjectOf({ who, workspaceId, person }: Identity): string {
  if (workspaceId !== undefined) return `workspace:${workspaceId}`
  return person === undefined ? who : `${who}~${Buffer.from(person).toString('base64url')}`
}

/** A clock that was ahead must not make sessions longer. */
function isCurrent(until: number, now: number): boolean {
  const left = until - now / 1000
  return left > 0 && left <= SESSION_S + SKEW_S
}

/** Bound to this token: a new one invalidates old sessions. */
function derive(keys: Keys, token: string | undefined, purpose: string): Buffer[] {
  if (!token) return []
  return keys.map((key) => Buffer.from(hkdfSync('sha256', key, token, purpose, 32)))
}

const sign = (claim: string, key: Buffer): string =>
  createHmac('sha256', key).update(claim).digest('base64url')

/**
 * Signed-out sessions. Topic `tasks` holds them as JSON under `session/<id>` until they would have expired. Control
 * processes follow it, so a sign-out takes effect everywhere within a second.
 */
export type EndedSessions = {
  has(id: string): boolean
  /** @returns false if the record is not about a session. */
  apply(key: string, value: Buffer | undefined): boolean
  /** Ended sessions that no process accepts any more, whatever its clock. @param now ms since 1970. */
  expired(now: number): string[]
  /** Changes by `work` are undone afterwards. */
  supposing<T>(work: () => T): T
}

const PREFIX = 'session/'
const endShape = z.object({ until: z.number() })

export function createEndedSessions(): EndedSessions {
  /** By id, in seconds since 1970. */
  const ended = new Map<string, number>()
  /** Removed, but valid by our clock, which is behind. */
  const kept = new Map<string, number>()
  let isSupposing = false

  function remove(id: string): void {
    const now = Date.now() / 1000
    const until = ended.get(id) ?? 0
    ended.delete(id)
    if (until > now && !isSupposing) kept.set(id, until)
    for (const [each, end] of kept) if (end <= now) kept.delete(each)
  }

  return {
    has: (id) => ended.has(id) || kept.has(id),
    apply(key, value) {
      if (!key.startsWith(PREFIX)) return false
      const id = key.slice(PREFIX.length)
      if (value === undefined) remove(id)
      // a record that cannot be read still ends its session
      else ended.set(id, untilIn(value))
      return true
    },
    expired: (now) => [...ended].filter(([, until]) => (until + SKEW_S) * 1000 < now).map(([id]) => id),
    supposing(work) {
      isSupposing = true
      try {
        return work()
      } finally {
        isSupposing = false
      }
    },
  }
}

function untilIn(value: Buffer): number {
  try {
    return endShape.parse(JSON.parse(value.toString())).until
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

export const endRecord = ({ id, until }: Session): OutRecord => ({
  topic: TASKS,
  key: PREFIX + id,
  value: JSON.stringify({ until }),
})

/** @param now ms since 1970: the time by which it has expired, so that Kafka refuses it if that is wrong. */
export const endTombstone = (id: string, now: number): OutRecord => ({
  topic: TASKS,
  key: PREFIX + id,
  value: null,
  timestamp: String(now),
})
