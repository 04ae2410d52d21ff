import { z } from 'zod'

/**
 * Filter, sample, redact and shape apply in this order. Stored rules must match these shapes forever; faults.ts limits
 * new rules. See docs/guides/rules.md.
 */

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()], {
  error: 'give a string, a number, true, false or null',
})
const scalars = z.array(scalar)
const ordered = z.union([z.number(), z.string()], { error: 'give a number or a string' })

export const OPERATORS = [
  'eq',
  'ne',
  'in',
  'nin',
  'exists',
  'startsWith',
  'endsWith',
  'contains',
  'gt',
  'gte',
  'lt',
  'lte',
  'matches',
] as const
export type Operator = (typeof OPERATORS)[number]

/** One of `all`, `any`, `not`, or `path` with one operator. An object gives clearer errors than a union. */
const filterShape = z
  .strictObject({
    get all() {
      return z.array(filterShape).optional().describe('Holds if every entry holds.')
    },
    get any() {
      return z.array(filterShape).optional().describe('Holds if at least one entry holds.')
    },
    get not() {
      return filterShape.optional().describe('Holds if its filter does not hold.')
    },
    path: z.string().optional().describe('A field of the call, such as `properties.total`.'),
    eq: scalar.optional().describe('The value equals this one and has the same type.'),
    ne: scalar.optional().describe('There is a value, and it differs from this one.'),
    in: scalars.optional().describe('The value is one of these.'),
    nin: scalars.optional().describe('There is a value, and it is not one of these.'),
    exists: z
      .boolean()
      .optional()
      .describe('true: there is a value, which may be null. false: there is none.'),
    startsWith: z.string().optional(),
    endsWith: z.string().optional(),
    contains: z.string().optional(),
    gt: ordered.optional().describe('Compares numbers with numbers and strings with strings.'),
    gte: ordered.optional(),
    lt: ordered.optional(),
    lte: ordered.optional(),
    matches: z.string().optional().describe('An RE2 expression that matches anywhere in the string.'),
  })
  .meta({ id: 'RulesFilter' })

export const REDACTIONS = ['drop', 'hash', 'mask', 'truncate'] as const
export type Redaction = (typeof REDACTIONS)[number]

export const rulesShape = z
  .strictObject({
    filter: filterShape
      .optional()
      .describe('Sends only events that meet it: `all`, `any`, `not`, or a `path` with one operator.'),
    sample: z
      .strictObject({
        rate: z.number().min(0).max(1).describe('The share of events to send, from 0 to 1.'),
        by: z
          .enum(['user', 'event'])
          .optional()
          .describe(
            '`user`, the default: sends all events of a user or none. `event`: decides for each event.',
          ),
      })
      .optional(),
    redact: z
      .array(
        z.strictObject({
          path: z.string(),
          as: z
            .enum(REDACTIONS)
            .describe(
              '`drop`: removes the value. `hash`: the first half of an HMAC-SHA256, as 32 hexadecimal digits. `mask`: asterisks. `truncate`: the network of an IP address, or the first characters.',
            ),
        }),
      )
      .optional()
      .describe('Applied in order, after the filter and before the shape.'),
    shape: z
      .unknown()
      .refine(
        (value): value is Record<string, unknown> | unknown[] => typeof value === 'object' && value !== null,
        'give an object or an array',
      )
      .optional()
      .meta({
        type: ['object', 'array'],
        description:
          'Replaces the body: JSON whose strings can contain placeholders such as `{{properties.total}}`.',
      }),
  })
  .meta({ id: 'Rules' })

export type Rules = z.infer<typeof rulesShape>
export type Filter = z.infer<typeof filterShape>
export type Scalar = z.infer<typeof scalar>
export type Redact = NonNullable<Rules['redact']>[number]
