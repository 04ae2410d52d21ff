import ms, { type StringValue } from 'ms'
import { z } from 'zod'
import { faultOfCidr, faultOfWidth } from './egress/blocks.ts'
import { parseConfigKey } from './settings/config-key.ts'

/** The values that environment variables may have. */

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean),
)
export const brokers = list.transform((texts, ctx) => {
  if (texts.length === 0) ctx.addIssue('needs at least one host:port')
  for (const text of texts) {
    // kafkajs divides it at the first colon
    const port = Number(/^[^:\s]+:(\d+)$/.exec(text)?.[1])
    if (!(port >= 1 && port <= 65_535))
      ctx.addIssue(`"${text}" is not host:port, with a name or an IPv4 address as host`)
  }
  return texts
})
export const whole = (least: number, most: number) =>
  z.string().transform((text, ctx) => {
    const number = Number(text)
    if (/^\d+$/.test(text) && number >= least && number <= most) return number
    ctx.addIssue(`"${text}" is not a whole number from ${least} to ${most}`)
    return z.NEVER
  })
export const port = whole(0, 65_535)
export const flag = z
  .enum(['true', 'false', '1', '0'], 'true or false')
  .transform((text) => text === 'true' || text === '1')

export const oneOf = <const T extends readonly string[]>(words: T) =>
  z.enum(words, { error: ({ input }) => `"${input}" is not one of ${words.join(', ')}` })

export const durationMs = z.string().transform((text, ctx) => {
  // `ms` also takes words ("2 days"); topic names can contain these four units
  if (/^\d+(\.\d+)?(ms|s|m|h)$/.test(text)) return ms(text as StringValue)
  ctx.addIssue(`"${text}" is not a duration: give a number with ms, s, m or h, like 500ms or 4h`)
  return z.NEVER
})

export const ladder = list.transform((delays, ctx) => {
  const parsed = delays.map((delay) => ({ name: delay, ...durationMs.safeParse(delay) }))
  for (const { name, error } of parsed) if (error) ctx.addIssue(`"${name}" is not a duration like 30s or 5m`)
  const rungs = parsed.map(({ name, data }) => ({ name, delayMs: data ?? 0 }))
  if (rungs.length === 0) ctx.addIssue('needs at least one delay')
  return rungs
})

/** One entry of OIDC_ADMINS or OIDC_VIEWERS. */
export type Claim = { name: string; value: string }

/** Excludes quotes around a value, and wildcards: such entries would match nobody. */
const PERSON =
  /^(?<email>(?:[^\s@=*"'][^\s@=*"]*)?@[^\s@=*"']+)$|^(?<name>[\w:./-]+)=(?<value>[^\s"'](?:.*[^\s"'])?)$/

export const people = list.transform((texts, ctx) =>
  texts.flatMap((text): Claim[] => {
    const { email, name, value } = PERSON.exec(text)?.groups ?? {}
    if (email) return [{ name: 'email', value: email }]
    if (name && value) return [{ name, value }]
    ctx.addIssue(
      `"${text}" is not an email address, an @domain or a claim such as groups=platform, without quotes`,
    )
    return []
  }),
)

/** Scopes of OAuth 2.0 (RFC 6749, 3.3). Without `openid`, a provider sends no ID token. */
export const scopes = z
  .string()
  .regex(/^[!#-[\]-~]+( [!#-[\]-~]+)*$/, 'must be scope names, separated by single spaces')
  .refine((text) => text.split(' ').includes('openid'), 'must include openid, with spaces between the names')

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Over plain http, others could read codes and tokens. */
function isSafe(text: string): boolean {
  const { protocol, hostname = '' } = URL.parse(text) ?? {}
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.has(hostname))
}

const safeUrl = z.string().refine(isSafe, {
  error: 'must be an https:// URL, or http:// on localhost',
  abort: true,
})

/** OpenID Connect Discovery 1.0, 3. */
export const issuerUrl = safeUrl.refine(
  (text) => /^https?:\/\/[^?#@\s]+$/.test(text),
  'must have no user, query or fragment: it is the issuer of the provider, such as https://id.example.com',
)

export const origin = safeUrl
  .refine(
    (text) => /^https?:\/\/[^/?#@\s]+\/?$/.test(text),
    'must be only a scheme, host and port: the console cannot have a path',
  )
  .transform((text) => new URL(text).origin)

const UNITS = { MB: 1024 ** 2, GB: 1024 ** 3, TB: 1024 ** 4 }

export const bytes = z.string().transform((text, ctx) => {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(MB|GB|TB)$/.exec(text) ?? []
  const size = Number(number) * UNITS[unit as keyof typeof UNITS]
  if (size > 0) return Math.round(size)
  ctx.addIssue(`"${text}" is not a size: give a number above 0 with MB, GB or TB, like 20GB`)
  return z.NEVER
})

export const cidrs = list.transform((blocks, ctx) => {
  for (const fault of blocks.map(faultOfCidr)) if (fault) ctx.addIssue(fault)
  return blocks
})

export const proxies = cidrs.transform((blocks, ctx) => {
  for (const block of blocks)
    if (block.endsWith('/0'))
      ctx.addIssue(`"${block}" lets every client claim any address: list only your load balancers`)
  return blocks
})

export const privateCidrs = cidrs.transform((blocks, ctx) => {
  for (const fault of blocks.map(faultOfWidth)) if (fault) ctx.addIssue(fault)
  return blocks
})

export const ports = list.transform((texts, ctx) =>
  texts.map((text): [number, number] => {
    const [, first, last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? []
    const range: [number, number] = [Number(first), Number(last)]
    if (!(range[0] >= 1 && range[0] <= range[1] && range[1] <= 65_535))
      ctx.addIssue(`"${text}" is neither a port from 1 to 65535 nor a range like 8000-8099`)
    return range
  }),
)

export const keys = list.transform((texts, ctx) => {
  const found = texts.map(parseConfigKey)
  if (found.length === 0) ctx.addIssue('needs at least one key')
  if (found.includes(undefined))
    ctx.addIssue('each key must be 32 bytes in base64, or derived by sluice keys')
  const [first] = found
  // a weak key may follow a new one, to decrypt old secrets
  if (first && 'whole' in first && new Set(first.whole).size < LEAST_BYTES)
    ctx.addIssue(
      'the first key is not random: put one from openssl rand -base64 32 before it, as CONFIG_KEY=new,old',
    )
  return found.filter((key) => key !== undefined)
})

/** Distinct bytes of a key and characters of a token: random ones have more. */
const LEAST_BYTES = 8
const LEAST_CHARACTERS = 5

export const token = z
  .string()
  .min(16, 'at least 16 characters')
  .refine(
    (text) => new Set(text).size >= LEAST_CHARACTERS,
    'is easy to guess: generate one with openssl rand -hex 24',
  )
  .regex(/^[!-~]*$/, 'has a space, a line break or a character outside ASCII, which headers cannot carry')

/** Also true for text that is not a URL, which has its own error. */
export function hasReadableCredentials(text: string): boolean {
  const { username = '', password = '' } = URL.parse(text) ?? {}
  try {
    decodeURIComponent(username + password)
    return true
  } catch {
    return false
  }
}
