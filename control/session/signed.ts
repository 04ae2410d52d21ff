import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { Keys } from '../../schemas/seal.ts'
import type { Tokens, Who } from '../auth.ts'

/** Sessions that no process keeps: who it is and until when, signed. What one instance has issued any other knows. */
export type Sessions = {
  /** Good for `SESSION_S` from now. @param now ms since 1970. */
  issue(who: Who, now: number): string
  /** Undefined: it is over, another's, or of a token that has changed since. @param now ms since 1970. */
  whoOf(session: string, now: number): Who | undefined
}

export const SESSION_S = 12 * 60 * 60

/** @param keys CONFIG_KEY: the first signs, all verify. Without it nobody can make one, whoever knows a token. */
export function createSessions(keys: Keys, tokens: Tokens): Sessions {
  const derived = { admin: derive(keys, tokens.admin), view: derive(keys, tokens.view) }

  return {
    issue(who, now) {
      const [key] = derived[who]
      if (!key) throw new Error(`nobody signs in as ${who}: there is no such token`)
      const claim = `${who}.${Math.floor(now / 1000) + SESSION_S}`
      return `${claim}.${sign(claim, key).toString('base64url')}`
    },

    whoOf(session, now) {
      const [, claim = '', name, until, signature = ''] =
        /^((admin|view)\.(\d{1,12}))\.([\w-]{43})$/.exec(session) ?? []
      const who: Who = name === 'admin' ? 'admin' : 'view'
      const given = Buffer.from(signature, 'base64url')
      const isSigned = derived[who].some(
        (key) => given.length === 32 && timingSafeEqual(sign(claim, key), given),
      )
      return isSigned && Number(until) * 1000 > now ? who : undefined
    },
  }
}

/** Of each key one for this alone, and for this token: another token makes another. */
function derive(keys: Keys, token: string | undefined): Buffer[] {
  if (!token) return []
  return keys.map((key) => Buffer.from(hkdfSync('sha256', key, token, 'sluice control session', 32)))
}

const sign = (claim: string, key: Buffer): Buffer => createHmac('sha256', key).update(claim).digest()
