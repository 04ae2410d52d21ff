import { mapSecrets } from '../schemas/seal.ts'
import type { Destination } from '../schemas/settings.ts'

const MASK = '***'
/** Shorter values are in any text: a header `X-Version: 2` would mask every 2, and hide nothing. */
const LEAST = 4

/** A secret as a receiver may print it, prepared for a search that takes no step back (Knuth, Morris, Pratt). */
type Spelling = { text: string; start: string; isWhole: boolean; borders: Uint16Array }

/** Of a longer spelling the beginning is looked for: an answer's kept head is shorter. */
const LONGEST = 2_048

// a destination that changes is another object
const known = new WeakMap<Destination, readonly Spelling[]>()

/**
 * What a receiver answered, with `***` for the secrets and header values of the destination, which some receivers echo: more people
 * read attempts than may know these. Found are values of at least four characters as they are, as JSON, HTML and URLs escape them,
 * and in base64. Takes time in proportion to the length of the response and to the number of spellings, whatever they are.
 */
export function withoutSecrets(response: string | null, destination: Destination): string | null {
  if (response === null || response.length < LEAST) return response
  const spellings = known.get(destination) ?? learn(destination)
  let ends: Uint32Array | undefined
  for (const spelling of spellings) {
    if (!response.includes(spelling.start)) continue
    ends ??= new Uint32Array(response.length)
    find(response, spelling, ends)
  }
  return ends ? masked(response, ends) : response
}

/**
 * Notes where the spelling is in the text, and where its beginning is at the text's end: of an answer only the head is kept.
 * @param ends for each position, where the longest secret ends that begins there; 0 for none.
 */
function find(text: string, { text: wanted, isWhole, borders }: Spelling, ends: Uint32Array): void {
  const note = (from: number, to: number) => {
    ends[from] = Math.max(ends[from] ?? 0, to)
  }
  let matched = 0
  for (let at = 0; at < text.length; at++) {
    while (matched > 0 && text[at] !== wanted[matched]) matched = borders[matched - 1] ?? 0
    if (text[at] === wanted[matched]) matched += 1
    if (matched < wanted.length) continue
    // what follows the beginning of a longer one is not known to be anything else
    note(at + 1 - matched, isWhole ? at + 1 : text.length)
    matched = borders[matched - 1] ?? 0
  }
  if (matched >= LEAST) note(text.length - matched, text.length)
}

/** Secrets that overlap become one mask. */
function masked(text: string, ends: Uint32Array): string {
  let shown = ''
  let shownTo = 0
  for (const [from, to] of ends.entries()) {
    if (to === 0) continue
    if (from >= shownTo) shown += text.slice(shownTo, from) + MASK
    shownTo = Math.max(shownTo, to)
  }
  return shown + text.slice(shownTo)
}

function learn(destination: Destination): readonly Spelling[] {
  const spellings = spellingsOf(destination).map((whole) => {
    const text = whole.slice(0, LONGEST)
    return { text, start: text.slice(0, LEAST), isWhole: text === whole, borders: bordersOf(text) }
  })
  known.set(destination, spellings)
  return spellings
}

/** For each beginning of the text: how long the longest shorter beginning is that it ends with. */
function bordersOf(text: string): Uint16Array {
  const borders = new Uint16Array(text.length)
  let length = 0
  for (let at = 1; at < text.length; at++) {
    while (length > 0 && text[at] !== text[length]) length = borders[length - 1] ?? 0
    if (text[at] === text[length]) length += 1
    borders[at] = length
  }
  return borders
}

function spellingsOf(destination: Destination): string[] {
  const secrets: string[] = []
  mapSecrets(destination, (secret) => {
    secrets.push(...partsOf(secret))
    return secret
  })
  const spellings = secrets.filter(({ length }) => length >= LEAST).flatMap(spelled)
  return [...new Set(spellings)]
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
