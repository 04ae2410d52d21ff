import { CALL_TYPES } from '../call/accept.ts'
import type { RouteType } from '../call/sender.ts'
import { CODES } from '../codes.ts'
import { BATCH_CALLS, REJECTED_LISTED, REJECTED_LISTED_EACH } from '../limits.ts'

/** What a call of each type needs besides a user. */
const NEEDS: Readonly<Record<RouteType, readonly string[]>> = {
  identify: [],
  track: ['event'],
  page: [],
  screen: [],
  group: ['groupId'],
  alias: ['userId', 'previousId'],
  batch: ['batch'],
}

export const bodyOf = (type: RouteType) => ({
  allOf: [{ $ref: `#/components/schemas/${type === 'batch' ? 'Batch' : 'Call'}` }, { required: NEEDS[type] }],
})

const type = { $ref: '#/components/schemas/CallType' }
const id = { type: ['string', 'number', 'null'], description: 'A number is taken as its decimal text.' }
const object = { type: ['object', 'null'] }
const time = { description: 'ISO 8601; anything else counts as absent.' }
const writeKey = { type: 'string', description: 'When it is neither the user name nor in the query.' }

const code = { type: 'string', enum: CODES }
const message = { type: 'string' }

export const SCHEMAS = {
  Anything: { type: 'object' },
  CallType: { type: 'string', enum: CALL_TYPES },
  Call: {
    type: 'object',
    description: 'Of userId and anonymousId one is needed.',
    properties: {
      userId: id,
      anonymousId: id,
      groupId: id,
      previousId: id,
      event: { type: 'string' },
      name: {},
      category: {},
      properties: object,
      traits: object,
      context: object,
      integrations: {
        ...object,
        description:
          'With "Webhooks": false, or "All": false without "Webhooks", the call is stored and sent to nobody.',
      },
      messageId: { description: 'Kept when it is a string of 1 to 100 characters, else made.' },
      timestamp: time,
      originalTimestamp: time,
      sentAt: time,
      writeKey,
    },
  },
  Batch: {
    type: 'object',
    properties: {
      batch: {
        type: 'array',
        minItems: 1,
        maxItems: BATCH_CALLS,
        items: {
          allOf: [{ $ref: '#/components/schemas/Call' }, { required: ['type'], properties: { type } }],
        },
      },
      context: { ...object, description: 'Under that of each call, as are the integrations.' },
      integrations: object,
      sentAt: time,
      writeKey,
    },
  },
  Taken: { type: 'object', required: ['success'], properties: { success: { const: true } } },
  BatchTaken: {
    type: 'object',
    required: ['success'],
    properties: {
      success: { const: true },
      rejected: {
        type: 'array',
        items: {
          type: 'object',
          required: ['index', 'code', 'message'],
          properties: { index: { type: 'integer', minimum: 0 }, code, message },
        },
      },
      rejectedUnlisted: {
        type: 'integer',
        minimum: 1,
        description: `How many more calls are rejected. \`rejected\` lists ${REJECTED_LISTED}, or one for each ${REJECTED_LISTED_EACH} bytes of the batch.`,
      },
    },
  },
  Refusal: { type: 'object', required: ['code', 'message'], properties: { code, message } },
} as const
