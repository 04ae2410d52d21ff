import { perObject } from '../process/per-object.ts'
import { secretsOf } from '../settings/seal.ts'
import type { Destination } from '../settings/settings.ts'

const MASK = '***'
/** Shorter values occur in any text: `X-Version: 2` would mask every 2. */
const MIN_CHARS = 4

/** A secret as a receiver may print it, prepared for a linear search (Knuth-Morris-Pratt). */
type Spelling = { text: string; start: string; isWhole: boolean; borders: Uint16Array }

/** Longer spellings are cut. Stored responses are shorter. */
const LONGEST = 2_048

/**
 * Masks the destination's secrets, header values and URL tokens in a response with `***`, as some receivers echo them.
 * Finds values of at least four characters plain, escaped as in JSON, HTML and URLs, and in base64. Takes linear time.
 */
export function withoutSecrets(response: string | null, destination: Destination): string | null {
  if (response === null || response.length < MIN_CHARS) return response
  let ends: Uint32Array | undefined
  for (const spelling of spellingsFor(destination)) {
    if (!response.includes(spelling.start)) continue
    ends ??= new Uint32Array(response.length)
    find(response, spelling, ends)
  }
  return ends ? masked(response, ends) : response
}

/**
 * Also finds a spelling that the end of the text cuts off.
 * @param ends by position: the end of the longest secret that begins there, or 0.
 */
function find(text: string, { text: secret, isWhole, borders }: Spelling, ends: Uint32Array): void {
  const note = (from: number, to: number) => {
    ends[from] = Math.max(ends[from] ?? 0, to)
  }
  let matched = 0
  for (let at = 0; at < text.length; at++) {
    while (matched > 0 && text[at] !== secret[matched]) matched = borders[matched - 1] ?? 0
    if (text[at] === secret[matched]) matched += 1
    if (matched < secret.length) continue
    // after a cut spelling, the rest of the text may belong to the secret
    note(at + 1 - matched, isWhole ? at + 1 : text.length)
    matched = borders[matched - 1] ?? 0
  }
  if (matched >= MIN_CHARS) note(text.length - matched, text.length)
}

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

// a changed destination is another object
const spellingsFor = perObject((destination: Destination): readonly Spelling[] =>
  textsOf(destination).map((whole) => {
    const text = whole.slice(0, LONGEST)
    return { text, start: text.slice(0, MIN_CHARS), isWhole: text === whole, borders: bordersOf(text) }
  }),
)

/** For each prefix, the length of its longest proper prefix that is also its suffix. */
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

function textsOf(destination: Destination): string[] {
  const tokens = destination.webhooks.flatMap(({ url }) => urlParts(url))
  const secrets = [...secretsOf(destination).flatMap(partsOf), ...tokens]
  const spellings = secrets.filter(({ length }) => length >= MIN_CHARS).flatMap(spelled)
  return [...new Set(spellings)]
}

/** Shorter paths, such as `/hook`, are not tokens. */
const MIN_PATH = 12

/** Possible tokens: path, long path segments, query values and credentials. */
function urlParts(url: string): string[] {
  const parsed = URL.parse(url)
  if (!parsed) return []
  const { pathname, search, searchParams, username, password } = parsed
  const segments = pathname.split('/')
  const paths = [pathname + search, pathname, ...segments, ...segments.map(decoded)]
  // as written: `?token=a%7eb`, `?token`
  const values = search
    .slice(1)
    .split('&')
    .map((part) => part.slice(part.indexOf('=') + 1))
  const long = paths.filter(({ length }) => length >= MIN_PATH)
  return [...long, ...values, ...searchParams.values(), username, password]
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** For `Bearer abc` also `abc`; for `Basic` also the decoded pair and its password. */
function partsOf(secret: string): string[] {
  const [, scheme = '', credentials] = /^([A-Za-z][\w-]*) +(\S+)$/.exec(secret) ?? []
  if (credentials === undefined) return [secret]
  if (scheme.toLowerCase() !== 'basic') return [secret, credentials]
  const pair = Buffer.from(credentials, 'base64').toString()
  return [secret, credentials, pair, pair.slice(pair.indexOf(':') + 1)]
}

function spelled(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1)
  const html = secret.replace(/[&<>"']/g, (character) => HTML[character] ?? character)
  const base64 = Buffer.from(secret).toString('base64')
  const base64url = Buffer.from(secret).toString('base64url')
  return [
    secret,
    json,
    json.replaceAll('/', '\\/'),
    // Go, and Python
    json.replace(/[<>&]/g, escaped),
    json.replace(/[^\0-\x7f]/g, escaped),
    html,
    html.replaceAll('&quot;', '&#34;'),
    html.replaceAll('&#39;', '&#x27;'),
    ...inUrls(secret),
    base64,
    base64.replace(/=+$/, ''),
    base64url,
  ]
}

/** JavaScript escapes fewer characters than others do, and .NET writes small digits. */
function inUrls(secret: string): string[] {
  const few = encodeURIComponent(secret.toWellFormed())
  const all = few.replace(/[!'()*~]/g, (character) => `%${hex(character, 2).toUpperCase()}`)
  const forms = [few, all, all.replaceAll('%7E', '~')]
  const withSmall = [...forms, ...forms.map((form) => form.replace(/%../g, (code) => code.toLowerCase()))]
  return [...withSmall, ...withSmall.map((form) => form.replaceAll('%20', '+'))]
}

const hex = (character: string, digits: number) => character.charCodeAt(0).toString(16).padStart(digits, '0')
const escaped = (unit: string) => `\\u${hex(unit, 4)}`

const HTML: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
