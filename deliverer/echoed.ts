import { mapSecrets } from '../schemas/seal.ts'
import type { Destination } from '../schemas/settings.ts'

const MASK = '***'
/** Shorter values are in any text: a header `X-Version: 2` would mask every 2, and hide nothing. */
const LEAST = 4

type Spellings = { all: readonly string[]; any: RegExp | undefined }

// a destination that changes is another object
const known = new WeakMap<Destination, Spellings>()

/**
 * What a receiver answered, without the secrets and header values of the destination, which some receivers echo: more people read
 * attempts than may know these. Found are values of at least four characters as they are, as JSON, HTML and URLs escape them, and
 * in base64; not what a receiver has made of them otherwise.
 */
export function withoutSecrets(response: string | null, destination: Destination): string | null {
  if (response === null || response.length < LEAST) return response
  const { all, any } = known.get(destination) ?? learn(destination)
  if (!any) return response
  const text = response.replace(any, MASK)
  const cut = Math.max(...all.map((spelling) => begunAtTheEnd(text, spelling)))
  return cut < LEAST ? text : text.slice(0, -cut) + MASK
}

/** Of an answer the head is kept: how many characters at its end are the beginning of a spelling. */
function begunAtTheEnd(text: string, spelling: string): number {
  for (let length = Math.min(spelling.length - 1, text.length); length >= LEAST; length--)
    if (text[text.length - length] === spelling[0] && text.endsWith(spelling.slice(0, length))) return length
  return 0
}

function learn(destination: Destination): Spellings {
  const all = spellingsOf(destination)
  const spellings = {
    all,
    any: all.length > 0 ? new RegExp(all.map(RegExp.escape).join('|'), 'g') : undefined,
  }
  known.set(destination, spellings)
  return spellings
}

/** Longest first: one may be within another. */
function spellingsOf(destination: Destination): string[] {
  const secrets: string[] = []
  mapSecrets(destination, (secret) => {
    secrets.push(...partsOf(secret))
    return secret
  })
  const spellings = secrets.filter(({ length }) => length >= LEAST).flatMap(spelled)
  return [...new Set(spellings)].sort((one, other) => other.length - one.length)
}

/** Of `Bearer abc` also what stands behind the scheme; of `Basic` what that says, and the password in it. */
function partsOf(secret: string): string[] {
  const [, scheme = '', credentials] = /^([A-Za-z][\w-]*) +(\S+)$/.exec(secret) ?? []
  if (credentials === undefined) return [secret]
  if (scheme.toLowerCase() !== 'basic') return [secret, credentials]
  const pair = Buffer.from(credentials, 'base64').toString()
  return [secret, credentials, pair, pair.slice(pair.indexOf(':') + 1)]
}

function spelled(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1)
  const inUrl = encodeURIComponent(secret.toWellFormed())
  const base64 = Buffer.from(secret).toString('base64')
  const base64url = Buffer.from(secret).toString('base64url')
  return [
    secret,
    json,
    json.replaceAll('/', '\\/'),
    secret.replace(/[&<>"']/g, (character) => HTML[character] ?? character),
    inUrl,
    inUrl.replaceAll('%20', '+'),
    base64,
    base64.replace(/=+$/, ''),
    base64url,
  ]
}

const HTML: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
