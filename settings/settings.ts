import { z } from 'zod'
import { rulesShape } from '../rules/rules.ts'

export const CONFIG = 'config'

/**
 * Settings in memory, secrets in clear. See seal.ts for topic `config`, and docs/reference/control-api.md,
 * "Resources".
 */

export const MAX_WEBHOOKS = 5
const MAX_HEADERS = 5
export const CALL_TYPES = ['identify', 'track', 'page', 'screen', 'group', 'alias'] as const
export type CallType = (typeof CALL_TYPES)[number]
export const EVENT_TYPES = [...CALL_TYPES, 'delete'] as const

export const idShape = z.string().regex(/^[a-z0-9_-]{1,64}$/, '1 to 64 of a-z, 0-9, _ and -')
const name = z.string().trim().min(1, 'must not be empty').max(200, 'at most 200 characters')

/**
 * Lower-case names of headers that Sluice sets on every POST, or that concern the connection. Those that it sets on
 * some POSTs may be configured, but Sluice's value wins.
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
  .refine((header) => !RESERVED_HEADERS.has(header.toLowerCase()), 'this header is set by Sluice')
/** Rules that JSON Schema cannot express. */
const HEADERS = `By name. Values are printable ASCII without leading or trailing spaces. In new settings, all values of a webhook together have at most 8,192 characters. Names must not differ only in case. These names are rejected, because Sluice sets them or because they concern the connection: ${[...RESERVED_HEADERS].join(', ')}.`
const headerValue = z
  .string()
  .max(4_096, 'at most 4,096 characters')
  .regex(/^[\x20-\x7e]*$/, 'printable ASCII only')
  .refine((value) => value === value.trim(), 'no leading or trailing spaces')

const url = z
  .string()
  .max(2_048, 'at most 2,048 characters')
  .superRefine((text, ctx) => {
    const parsed = URL.canParse(text) ? new URL(text) : undefined
    if (!parsed || !/^https?:$/.test(parsed.protocol))
      ctx.addIssue('a full URL beginning with http:// or https:// is needed')
    else if (parsed.username || parsed.password) ctx.addIssue('no user or password in the URL: use a header')
  })
  // not `format: uri`: the URL Standard accepts more than RFC 3986
  .meta({
    description:
      'An absolute http or https URL by the URL Standard (url.spec.whatwg.org), without user and password.',
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
      if (new Set(names).size < names.length) ctx.addIssue('the same header twice, in different case')
    })
    .meta({ maxProperties: MAX_HEADERS, description: HEADERS }),
})

/** No default, so that the previous version can read records without it. */
const workspaceId = (description: string) => idShape.optional().describe(description)

const writeKey = z
  .string()
  .regex(/^[\x21-\x39\x3b-\x7e]{8,128}$/, '8 to 128 printable characters without space and colon')

export const sourceShape = z.strictObject({
  name,
  writeKey: writeKey
    .optional()
    .describe(
      'Identifies the source in calls. Generated if absent; a replacement without one keeps the current key.',
    ),
  // no default, as below
  previousWriteKey: writeKey
    .optional()
    .describe(
      'The write key before the last replacement. Until its expiry, calls with it are accepted as well. A PUT that leaves out this field, its expiry and `writeKey` keeps it until then.',
    ),
  previousWriteKeyExpiresAt: z.iso
    .datetime({ offset: true })
    .optional()
    .describe(
      'When the previous write key ends. To replace a write key without losing calls, send this with a new `writeKey` and without `previousWriteKey`: the current key becomes the previous one. A time in the past ends it now.',
    ),
  enabled: z.boolean().default(true).describe('If false, its calls get 403 `source_disabled`.'),
  // no defaults, so that the previous version can read records without these fields
  kind: z
    .enum(['web', 'mobile', 'server', 'notices'])
    .optional()
    .describe(
      'What sends the calls. Default: `server`. For `web` and `mobile`, calls without `context.ip` get the address of their request. For `notices`, Sluice sends the calls, when a webhook fails or works again; all others get 403 `notices_only`.',
    ),
  ip: z
    .enum(['full', 'truncated', 'none'])
    .optional()
    .describe(
      'How much of `context.ip` is stored. Default: `full`. `truncated` drops the last 8 bits of IPv4 and the last 80 of IPv6; `none` drops it entirely.',
    ),
  dedup: z
    .literal('off')
    .optional()
    .describe(
      'By default, a call whose `messageId` was seen within `DEDUP_WINDOW` is dropped. `off` forwards it again.',
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
        .describe(
          'Bytes/s that its calls take in Kafka, or their bodies if larger; a burst may be ten times as large.',
        ),
    })
    .optional()
    .describe('Token buckets, for each ingest process: calls/s, burst of calls, and bytes/s.'),
  workspaceId: workspaceId(
    'The workspace that the source belongs to. Once set, it cannot change. See docs/guides/workspaces.md.',
  ),
  labels: z
    .record(z.string().max(64), z.string().max(256))
    .optional()
    .describe('Free-form; Sluice ignores them. New settings have at most 64.'),
})

export const destinationShape = z.strictObject({
  type: z.literal('Webhooks').default('Webhooks'),
  name,
  enabled: z
    .boolean()
    .default(true)
    .describe(
      'If false, nothing is sent. Deliveries that fall due meanwhile are cancelled, as if the destination were removed.',
    ),
  sourceIds: z.array(idShape).max(1_000).default([]).describe('Sources whose events the destination gets.'),
  eventTypes: z
    .array(z.enum(EVENT_TYPES))
    .min(1, 'at least one type; leave it out for all')
    .optional()
    .describe('Default: all types.'),
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
    .describe('If set, every POST is signed with it.'),
  // control checks that both come together
  previousSecret: z
    .string()
    .min(1)
    .max(512)
    .optional()
    .describe('The secret before a rotation. It signs as well, until its expiry.'),
  previousSecretExpiresAt: z.iso
    .datetime({ offset: true })
    .optional()
    .describe(
      'Until then the previous secret signs as well. To start a rotation, send this with a new `sharedSecret` and without `previousSecret`: the current secret becomes the previous one.',
    ),
  retryOn: z
    .array(z.literal([408, 425, 429]))
    .optional()
    .describe('Statuses below 500 to retry as well. With any of them, Retry-After is honored.'),
  standardWebhooks: z
    .boolean()
    .optional()
    .describe('Also sends the Standard Webhooks headers, if there is a secret.'),
  workspaceId: workspaceId(
    'The workspace that the destination belongs to: its sources must belong to the same one. Once set, it cannot change. See docs/guides/workspaces.md.',
  ),
  // no defaults, as for sources
  paused: z
    .boolean()
    .optional()
    .describe(
      'If true, the destination is paused: its deliveries are held. Set it to false to resume the destination: held deliveries arrive within a quarter of the length of the pause. Time on hold does not count towards the retry window.',
    ),
  rules: rulesShape
    .optional()
    .describe(
      'Which events the destination gets, and what their bodies contain: filter, sample, redact, shape. See docs/guides/rules.md.',
    ),
  hashKey: z
    .string()
    .min(1, 'must not be empty')
    .max(512)
    .optional()
    .describe(
      'Secret key for `redact` with `as: hash` and for hashed users in record keys. Generated if absent and the rules redact. A replacement without it keeps the current key. New keys need at least 16 characters.',
    ),
})

/** Source of a suppression that applies to all sources. */
export const EVERY_SOURCE = '*'

/** As in a call. Half a surrogate pair has no UTF-8 form: it would become U+FFFD, another user. */
export const userIdShape = z
  .string()
  .min(1, 'must not be empty')
  .max(32_768, 'at most 32,768 characters')
  .refine((id) => id.isWellFormed(), 'is not valid Unicode: it has half a surrogate pair')

export const suppressionShape = z.strictObject({
  sourceId: z
    .string()
    .regex(/^(\*|[a-z0-9_-]{1,64})$/, 'the id of a source, or * for all of them')
    .describe('The id of a source, or `*` for all of them, including future ones.'),
  userId: userIdShape.describe('Must equal the `userId` of a call exactly.'),
})

/** Identify calls of its source announce its users. */
export const computationShape = z.strictObject({
  name,
  sourceId: idShape.describe('The source in whose name identify calls are sent. It cannot change.'),
})

const stored = {
  id: idShape,
  version: z.number().int().positive().describe('Increases with each write.'),
  updatedAt: z.string().describe('ISO 8601 UTC.'),
}

/** The view token gets `***` for both write keys. */
export const storedSource = sourceShape.extend({
  ...stored,
  writeKey: z.string(),
  previousWriteKey: z.string().optional(),
})
export const storedDestination = destinationShape.extend(stored)
export const storedSuppression = suppressionShape.extend(stored)
export const storedComputation = computationShape.extend({
  ...stored,
  key: z
    .string()
    .describe(
      'The name of the trait in identify calls: the snake_case form of the first `name`. Renaming does not change it.',
    ),
  createdAt: z.string().describe('ISO 8601 UTC.'),
  lastSyncAt: z
    .string()
    .nullable()
    .describe('ISO 8601 UTC; null: never. A sync does not change the setting, so `version` stays.'),
})

export type Source = z.infer<typeof storedSource>
export type Destination = z.infer<typeof storedDestination>
export type Suppression = z.infer<typeof storedSuppression>
export type Computation = z.infer<typeof storedComputation>
export const KINDS = ['source', 'destination', 'suppression', 'audience', 'trait'] as const
export type Kind = (typeof KINDS)[number]
