import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Offsets } from '../../kafka/admin/offsets.ts'
import { MAX_SKEW_MS } from '../../kafka/tables/ranges.ts'
import type { Reader } from '../../kafka/tables/reader.ts'
import { isDeeper } from '../../process/json-depth.ts'
import type { Logger } from '../../process/log.ts'
import { AUDIT } from '../../schemas/topics.ts'
import { isHashedId } from '../../settings/suppression-list.ts'
import type { Caller } from '../api/auth/tokens.ts'
import { addPath, operation } from '../api/operation.ts'
import { pageOf } from '../api/pagination.ts'
import { type ApiResponse, isoTime, timeShape } from '../api/response.ts'
import { createSearching, type Searching } from './events/search.ts'
import type { Part } from './events/search-backwards.ts'
import {
  answered,
  createViewerLimit,
  type SearchParts,
  searchForUser,
  tooManySearches,
} from './records/following.ts'
import { isWithin, rangeFields } from './records/query-fields.ts'

/** From `withAuditTopic`; later versions may add fields. */
const recordShape = z.looseObject({
  at: z.string(),
  who: z.string(),
  person: z.string().optional(),
  by: z.string(),
  address: z.string(),
  session: z.string().optional(),
  what: z.string(),
  outcome: z.string(),
  id: z.string().optional(),
  version: z.number().optional(),
  changes: z.record(z.string(), z.unknown()).optional(),
})
type AuditRecord = z.infer<typeof recordShape>

const entryShape = z
  .strictObject({
    at: z.string().describe('ISO 8601 UTC.'),
    who: z.string().describe('`admin`, `view` or `workspace`; `details.workspaceId` names the workspace.'),
    person: z.string().nullable().describe('The person who signed in with single sign-on; otherwise null.'),
    by: z
      .string()
      .describe(
        '`bearer`: a token. `cookie`: a session. `single-sign-on`: a sign-in through the identity provider.',
      ),
    address: z.string().describe('IP address of the client.'),
    session: z
      .string()
      .nullable()
      .describe(
        'Id of the session that made the request, if `by` is `cookie` or `who` is `workspace`. If `what` is `session`, the id of the session that began or ended.',
      ),
    what: z
      .string()
      .describe(
        'The kind of setting or task, or `test`, `session`, `token` (of a workspace), `search`, `backup` or `restore`.',
      ),
    outcome: z
      .string()
      .describe(
        '`unavailable`: Kafka did not confirm, so the change may have been made. `begun`: a restore is about to write; its end is another entry, unless the process ended first. `interrupted`: another change stopped the restore, so part of it may have been made.',
      ),
    id: z.string().nullable().describe('Id of the setting or task.'),
    version: z.number().nullable(),
    changes: z
      .record(z.string(), z.unknown())
      .describe(
        'By JSON pointer: `{from, to}`, or `changed` where the value is secret. Never contains secrets or user ids.',
      ),
    details: z.record(z.string(), z.unknown()).describe('Other fields, which depend on `what`.'),
  })
  .meta({ id: 'AuditEntry' })

const queryShape = z.strictObject({
  ...rangeFields,
  limit: z.coerce.number().int().min(1).max(100).default(50),
  what: z.string().min(1).max(64).optional().describe('Only entries about this kind.'),
  id: z.string().min(1).max(64).optional().describe('Only entries about the setting or task with this id.'),
  who: z.enum(['admin', 'view', 'workspace']).optional(),
  person: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Only entries with this `person`; capitalization does not matter.'),
})
type AuditQuery = z.output<typeof queryShape>

export type AuditRouteParts = {
  readerOf: (topic: string) => Promise<Pick<Reader, 'read'>>
  openOffsets: () => Promise<Pick<Offsets, 'bounds' | 'at' | 'close'>>
  tokenLimits: SearchParts['tokenLimits']
  log: Pick<Logger, 'info' | 'warn'>
}

export function auditRoutes(api: FastifyInstance, parts: AuditRouteParts): void {
  const searching = createSearching(parts.openOffsets)
  const limitViewers = createViewerLimit()
  addPath(api, '/audit', {
    GET: operation({
      summary: 'Show who changed what',
      description:
        'Changes, sign-ins, test sends, and searches that can find a user, newest first, for 90 days. The search reads a topic on demand, for at most 3 s a request; use `next` to continue.',
      query: queryShape,
      responses: {
        200: {
          description: 'A page. It may be empty and still have a `next`.',
          body: pageOf(entryShape).extend({
            searchedSince: timeShape.describe('Everything since then has been searched; null: everything.'),
          }),
        },
      },
      errorCodes: ['too_many_searches'],
      handle({ query, caller }) {
        return answered(
          [],
          () => limitViewers(caller.who, () => search(query, { ...parts, searching, caller })),
          (err) => parts.log.warn({ err }, 'the audit log could not be read'),
        )
      },
    }),
  })
}

type Asking = AuditRouteParts & { searching: Searching; caller: Caller }

async function search(
  { limit, cursor, since, until, ...wanted }: AuditQuery,
  { searching, caller, ...parts }: Asking,
): Promise<ApiResponse> {
  const { read } = await parts.readerOf(AUDIT)
  // by each record's own time: the search counts records after one from a fast clock as just as late
  const find: Part<AuditRecord>['find'] = (value, _, { timestamp }) =>
    isWithin({ time: timestamp }, { since, until }) ? matching(value, wanted) : undefined
  const begin = () =>
    searching<AuditRecord>({
      parts: [{ topic: AUDIT, isSearched: () => true, read, find }],
      limit,
      cursor,
      since,
      until: until && until + MAX_SKEW_MS,
      isNarrow: Object.values(wanted).some((each) => each !== undefined),
    })
  const found = namesUser(wanted) ? searchForUser(caller, parts, begin) : begin()
  if (!found) return tooManySearches
  const { items, next, searchedSince } = await found
  const searched = isoTime(searchedSince)
  return { status: 200, body: { items: items.map(entryOf), next, searchedSince: searched } }
}

/** The id of a suppression is made from its user. */
const namesUser = ({ id = '', what = 'suppression' }: Pick<AuditQuery, 'id' | 'what'>) =>
  what === 'suppression' && isHashedId(id)

function matching(
  value: Buffer | null,
  wanted: Pick<AuditQuery, 'what' | 'id' | 'who' | 'person'>,
): AuditRecord | undefined {
  const record = value ? parsed(value) : undefined
  if (!record) return undefined
  const isWanted = (['what', 'id', 'who'] as const).every(
    (name) => wanted[name] === undefined || record[name] === wanted[name],
  )
  const isTheirs = wanted.person === undefined || record.person?.toLowerCase() === wanted.person.toLowerCase()
  return isWanted && isTheirs ? record : undefined
}

/** No change has as many. V8 cannot print more than about 10,000. */
const MAX_LEVELS = 200

function parsed(value: Buffer): AuditRecord | undefined {
  if (isDeeper(value, MAX_LEVELS)) return undefined
  try {
    return recordShape.safeParse(JSON.parse(value.toString())).data
  } catch {
    return undefined
  }
}

function entryOf(record: AuditRecord): z.infer<typeof entryShape> {
  const { at, who, person, by, address, session, what, outcome, id, version, changes, ...details } = record
  return {
    at,
    who,
    person: person ?? null,
    by,
    address,
    what,
    outcome,
    details,
    session: session ?? null,
    id: id ?? null,
    version: version ?? null,
    changes: changes ?? {},
  }
}
