import { z } from 'zod'

/** Topic of the settings. */
export const CONFIG = 'config'

/**
 * Settings as they are in memory, secrets in clear; topic `config` holds them as JSON with each secret sealed (seal.ts),
 * under the key `kind/id`. What they may hold: docs/reference/control-api.md, "Resources".
 */

export const MAX_WEBHOOKS = 5
const MAX_HEADERS = 5
export const EVENT_TYPES = ['identify', 'track', 'page', 'screen', 'group', 'alias', 'delete'] as const

export const idShape = z.string().regex(/^[a-z0-9_-]{1,64}$/, '1 to 64 of a-z, 0-9, _ and -')
const name = z.string().trim().min(1, 'must not be empty').max(200, 'at most 200 characters')

/**
 * Names that we set ourselves on every POST, or that speak of the connection and not of the request; in lower case. Those that
 * go out on some POSTs only (X-Replay, Standard Webhooks' three) may be configured: ours take their place where we send them.
 */
const RESERVED_HEADERS = new Set([
  'host',
  'content-length',
  'content-type',
  'user-agent',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'expect',
  'x-signature',
  'x-delivery-id',
  'x-message-id',
  'x-attempt',
])

const headerName = z
  .string()
  .max(128, 'at most 128 characters')
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "letters, digits and !#$%&'*+.^_`|~- only (RFC 9110)")
  .refine((header) => !RESERVED_HEADERS.has(header.toLowerCase()), 'this header is set by Sluice itself')
/** Rules that the schema cannot express. */
const HEADERS = `By name. Values are printable ASCII without spaces at their ends. In new settings, the values of one webhook have at most 8,192 characters in total. Two names must not differ in capitals alone. These names are refused, because Sluice sets them or because they concern the connection: ${[...RESERVED_HEADERS].join(', ')}.`
const headerValue = z
  .string()
  .max(4_096, 'at most 4,096 characters')
  .regex(/^[\x20-\x7e]*$/, 'printable ASCII only')
  .refine((value) => value === value.trim(), 'no spaces at its ends')

const url = z
  .string()
  .max(2_048, 'at most 2,048 characters')
  .superRefine((text, ctx) => {
    const parsed = URL.canParse(text) ? new URL(text) : undefined
    if (!parsed || !/^https?:$/.test(parsed.protocol))
      ctx.addIssue('a full URL beginning with http:// or https:// is needed')
    else if (parsed.username || parsed.password) ctx.addIssue('no user or password in the URL: use a header')
  })
  // not `format: uri`: what browsers take for a URL need not be one by RFC 3986
  .meta({
    description:
      'As the URL Standard (url.spec.whatwg.org) reads it: absolute, http or https, without user and password.',
    examples: ['https://crm.example/hook'],
  })

const webhookShape = z.strictObject({
  url,
  headers: z
    .record(headerName, headerValue)
    .default({})
    .superRefine((headers, ctx) => {
      const names = Object.keys(headers).map((header) => header.toLowerCase())
      if (names.length > MAX_HEADERS)
        ctx.addIssue(`at most ${MAX_HEADERS} headers; there are ${names.length}`)
      if (new Set(names).size < names.length) ctx.addIssue('the same header twice, in other capitals')
    })
    .meta({ maxProperties: MAX_HEADERS, description: HEADERS }),
})

export const sourceShape = z.strictObject({
  name,
  writeKey: z
    .string()
    .regex(/^[\x21-\x39\x3b-\x7e]{8,128}$/, '8 to 128 printable characters without space and colon')
    .optional()
    .describe('Names the source in calls. Made when it is not given; a replacement without one keeps it.'),
  enabled: z.boolean().default(true).describe('Off: its calls get 403 `source_disabled`.'),
  // no defaults: a record that has neither can be read by the version before
  kind: z
    .enum(['web', 'mobile', 'server'])
    .optional()
    .describe(
      'What sends the calls; absent: `server`. Calls of `web` and `mobile` without `context.ip` get the address that their request came from.',
    ),
  ip: z
    .enum(['full', 'truncated', 'none'])
    .optional()
    .describe(
      'What is kept of `context.ip`; absent: `full`. `truncated`: without the last 8 bits of IPv4, or the last 80 of IPv6. `none`: nothing.',
    ),
  dedup: z
    .literal('off')
    .optional()
    .describe(
      'Off: calls with a `messageId` that was seen before are forwarded again. Absent: they are dropped within `DEDUP_WINDOW`.',
    ),
  rateLimit: z
    .strictObject({
      perSecond: z.number().positive().max(1e6),
      burst: z.number().int().min(1).max(1e6),
      bytesPerSecond: z
        .number()
        .int()
        .min(1_024)
        .max(1e9)
        .optional()
        .describe('Bytes that its calls take in Kafka, a second; ten times as many at once.'),
    })
    .optional()
    .describe('Token buckets, per ingest process: calls a second, how many at once, and bytes a second.'),
  labels: z
    .record(z.string().max(64), z.string().max(256))
    .optional()
    .describe('Nothing goes by them. In new settings there are at most 64.'),
})

export const destinationShape = z.strictObject({
  type: z.literal('Webhooks').default('Webhooks'),
  name,
  enabled: z
    .boolean()
    .default(true)
    .describe('Off: within a second what waits for it is given up, as when it is removed.'),
  sourceIds: z.array(idShape).max(1_000).default([]).describe('The sources whose events it gets.'),
  eventTypes: z
    .array(z.enum(EVENT_TYPES))
    .min(1, 'at least one type; leave it out for all')
    .optional()
    .describe('Absent: all types.'),
  webhooks: z
    .array(webhookShape)
    .min(1, 'at least one webhook is needed')
    .max(MAX_WEBHOOKS, `at most ${MAX_WEBHOOKS} webhook URLs`)
    .describe(
      'Each event is posted to every URL at once. One success settles the delivery: URLs that failed are not retried.',
    ),
  sharedSecret: z
    .string()
    .min(1, 'must not be empty')
    .max(512)
    .optional()
    .describe('Set: every POST is signed with it.'),
  // that it and its expiry come together control sees to
  previousSecret: z
    .string()
    .min(1)
    .max(512)
    .optional()
    .describe('The secret before a rotation, which signs as well until its expiry.'),
  previousSecretExpiresAt: z.iso
    .datetime({ offset: true })
    .optional()
    .describe(
      'Until then the previous secret signs as well. With another `sharedSecret` and without `previousSecret` it begins a rotation: the secret that there was becomes the previous one.',
    ),
  retryOn: z
    .array(z.literal([408, 425, 429]))
    .optional()
    .describe('Statuses below 500 that are retried as well; with any of them Retry-After is honoured.'),
  standardWebhooks: z
    .boolean()
    .optional()
    .describe('Sends the Standard Webhooks headers too, when there is a secret.'),
})

/** As the source of a suppression: all of them. */
export const EVERY_SOURCE = '*'

/**
 * It may be as long as a whole call. Half of a surrogate pair has no UTF-8: Kafka and receivers would get U+FFFD in its place, which is
 * another user.
 */
export const userIdShape = z
  .string()
  .min(1, 'must not be empty')
  .max(32_768, 'at most 32,768 characters')
  .refine((id) => id.isWellFormed(), 'is no Unicode: it has half of a surrogate pair')

/** A user whose calls are dropped. */
export const suppressionShape = z.strictObject({
  sourceId: z
    .string()
    .regex(/^(\*|[a-z0-9_-]{1,64})$/, 'the id of a source, or * for all of them')
    .describe('The id of a source, or `*` for all of them, also those that are made later.'),
  userId: userIdShape.describe('Compared with that of a call as it is.'),
})

/** An audience or a computed trait: what identify calls tell of its users, in the name of a source. */
export const computationShape = z.strictObject({
  name,
  sourceId: idShape.describe('The source in whose name identify calls tell of it. It stays.'),
})

const stored = {
  id: idShape,
  version: z.number().int().positive().describe('Counts up with each write.'),
  updatedAt: z.string().describe('ISO 8601 UTC.'),
}

export const storedSource = sourceShape.extend({ ...stored, writeKey: z.string() })
export const storedDestination = destinationShape.extend(stored)
export const storedSuppression = suppressionShape.extend(stored)
export const storedComputation = computationShape.extend({
  ...stored,
  key: z
    .string()
    .describe(
      'The name of the trait in identify calls: the snake_case form of the first `name`. Another name does not change it.',
    ),
  createdAt: z.string().describe('ISO 8601 UTC.'),
  lastSyncAt: z
    .string()
    .nullable()
    .describe('ISO 8601 UTC; null: never. It is no change of the setting, and leaves `version` as it is.'),
})

export type Webhook = z.infer<typeof webhookShape>
export type Source = z.infer<typeof storedSource>
export type Destination = z.infer<typeof storedDestination>
export type Suppression = z.infer<typeof storedSuppression>
export type Computation = z.infer<typeof storedComputation>
export const KINDS = ['source', 'destination', 'suppression', 'audience', 'trait'] as const
export type Kind = (typeof KINDS)[number]
