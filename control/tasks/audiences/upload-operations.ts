import { z } from 'zod'
import type { Storage } from '../../../kafka/admin/storage.ts'
import { withTimeout } from '../../../process/timeout.ts'
import type { Sync } from '../../../schemas/task.ts'
import type { Settings } from '../../../settings/follow.ts'
import type { Facts } from '../../../settings/resources/resource.ts'
import type { Computation } from '../../../settings/settings.ts'
import { readAsStream, textOf, wrongType } from '../../api/body-stream.ts'
import { CLIENT_WAIT_MS } from '../../api/concurrency.ts'
import { type ApiRequest, flag, json, operation } from '../../api/operation.ts'
import { type ApiResponse, invalid, problem, refusalResponse } from '../../api/response.ts'
import { patchShape, readPatch } from './members-patch.ts'
import { createInvalidLines, previewShape } from './preview.ts'
import { createSyncer, notUploaded, type SyncRouteParts, syncShape } from './sync.ts'
import { csvChanges } from './upload-csv.ts'
import { changesIn, jsonMember, LINE_CODES, plainMember, type ReadLine, traitValue } from './upload-lines.ts'

export type ComputationRouteParts = SyncRouteParts & {
  settings: Pick<Facts, 'audiences' | 'traits'> & {
    suppressedUsers: Settings['suppressedUsers']
    table: Pick<Settings['table'], 'caughtUp'>
  }
  storage: Pick<Storage, 'shortage'>
}

const valuesQueryShape = z.strictObject({
  dryRun: flag('`true`: responds with what the upload would do, but changes and sends nothing.'),
  allowRemovals: flag('`true`: accepts an upload that removes more than a tenth of the members or values.'),
  skipInvalid: flag('`true`: leaves out lines that cannot be used, instead of refusing the upload.'),
})

const membersQueryShape = valuesQueryShape.extend({
  allowEmpty: flag('`true`: accepts an upload that lists no users, which removes all members.'),
})

const responses = {
  200: { description: 'The result of the sync.', body: syncShape },
  202: {
    description:
      'The upload is accepted, and the sync continues, because of `Prefer: respond-async` or because this process is shutting down.',
    body: syncShape.pick({ id: true, state: true }),
    headers: ['location'],
  },
} as const

const putResponses = {
  ...responses,
  200: {
    description: 'The result of the sync, or of the dry run.',
    body: z.union([syncShape, previewShape]),
  },
} as const

const lines = {
  required: false,
  types: { 'text/plain': z.string(), 'application/x-ndjson': z.string(), 'text/csv': z.string() },
}
const errorCodes = [
  ...LINE_CODES,
  'upload_broken',
  'unsupported_encoding',
  'not_found',
  'sync_running',
  'many_removals',
  'partitions_changed',
  'storage_full',
] as const

export function uploadOperations(parts: ComputationRouteParts, shutdown: AbortSignal) {
  const uploading = { ...parts, sync: createSyncer(parts), shutdown }
  const members = {
    PUT: operation({
      summary: 'Set all members of an audience',
      description:
        'One user id on each line; or, as NDJSON, one string or `{"userId"}`; or CSV with a column `userId`, whose fields are separated by commas, semicolons or tabs. Any length, optionally with `Content-Encoding: gzip`. An identify call is sent for each user who joined or left since the last sync.',
      query: membersQueryShape,
      headers: preferHeader,
      body: lines,
      responses: putResponses,
      errorCodes: [...errorCodes, 'empty_upload'],
      handle: (request) =>
        put(
          request,
          {
            kind: 'audience',
            readLine: formatOf(request) === 'ndjson' ? jsonMember : plainMember,
            mayBeEmpty: request.query.allowEmpty === 'true',
          },
          uploading,
        ),
    }),
    PATCH: operation({
      summary: 'Add and remove members of an audience',
      headers: preferHeader,
      body: json(patchShape),
      responses,
      errorCodes: ['not_found', 'sync_running', 'partitions_changed', 'storage_full'],
      handle: (request) => patch(request, uploading),
    }),
  }
  const values = {
    PUT: operation({
      summary: 'Set values of a trait',
      description:
        'One `{"userId", "value"}` on each line, or CSV with these columns, separated by commas, semicolons or tabs. Null, or an empty field, removes the value; users that are not listed keep theirs. An identify call is sent for each changed value.',
      query: valuesQueryShape,
      headers: preferHeader,
      body: lines,
      responses: putResponses,
      errorCodes,
      handle: (request) => put(request, { kind: 'trait', readLine: traitValue, mayBeEmpty: true }, uploading),
    }),
  }
  return { members, values }
}

type Format = 'plain' | 'ndjson' | 'csv'

const FORMATS: readonly [Format, RegExp][] = [
  ['plain', /^text\/plain\b/i],
  ['ndjson', /^application\/(x-ndjson|ndjson|jsonl|x-jsonlines)\b/i],
  ['csv', /^text\/csv\b/i],
]

/** Undefined for any other type: if CSV were read as plain text, its lines would become user ids. */
function formatOf({ headers }: Pick<ApiRequest, 'headers'>): Format | undefined {
  const type = headers['content-type'] ?? 'text/plain'
  return FORMATS.find(([, pattern]) => pattern.test(type))?.[0]
}

const LINES =
  'Send one user id on each line as text/plain, one JSON value on each line as application/x-ndjson, or text/csv'

type Putting = {
  kind: Sync['of']['kind']
  /** Any format but CSV. */
  readLine: ReadLine
  mayBeEmpty: boolean
}

type Uploading = ComputationRouteParts & { sync: ReturnType<typeof createSyncer>; shutdown: AbortSignal }

async function put(
  request: ApiRequest<z.output<typeof valuesQueryShape>>,
  { kind, readLine, mayBeEmpty }: Putting,
  { sync, shutdown, ...parts }: Uploading,
): Promise<ApiResponse> {
  const { caller, params, query } = request
  const of = { kind, id: params.id }
  const computation = await computationOf(of, parts)
  if ('status' in computation) return computation
  const format = formatOf(request)
  if (!format) return wrongType(LINES)
  const read = textOf(request, LINES)
  if ('refused' in read) return read.refused
  const dryRun = query.dryRun === 'true'
  const invalid = createInvalidLines()
  const onInvalid = dryRun || query.skipInvalid === 'true' ? invalid.onInvalid : undefined
  return sync({
    caller,
    of,
    computation,
    changes:
      format === 'csv' ? csvChanges(read.text, kind, onInvalid) : changesIn(read.text, readLine, onInvalid),
    invalid,
    // a trait's upload lists some users, an audience's all members
    others: kind === 'audience' ? 'removed' : 'stay',
    dryRun,
    mayBeEmpty,
    mayRemoveMany: query.allowRemovals === 'true',
    timeoutMs: waitPreference(request),
    shutdown,
  })
}

async function patch(
  { caller, params: { id }, headers, body }: ApiRequest,
  { sync, shutdown, ...parts }: Uploading,
): Promise<ApiResponse> {
  if (readAsStream(body)) return wrongType('Send JSON with Content-Type: application/json')
  const of = { kind: 'audience', id } as const
  const computation = await computationOf(of, parts)
  if ('status' in computation) return computation
  const read = readPatch(body)
  if ('faults' in read) return invalid(read.faults)
  return sync({
    caller,
    of,
    computation,
    others: 'stay',
    changes: [read.changes],
    invalid: createInvalidLines(),
    dryRun: false,
    mayBeEmpty: true,
    // it names them
    mayRemoveMany: true,
    timeoutMs: waitPreference({ headers }),
    shutdown,
  })
}

/** Like calls to ingest in this situation. */
const storageFull = problem(
  { code: 'storage_full', message: 'Kafka is short of space, so uploads are refused: try again later' },
  { 'retry-after': '30' },
)

/** Another instance may just have created it. */
async function computationOf(
  { kind, id }: Sync['of'],
  { settings, storage, log }: ComputationRouteParts,
): Promise<Computation | ApiResponse> {
  if (storage.shortage()) return storageFull
  const all = kind === 'audience' ? settings.audiences : settings.traits
  const known = all.get(id)
  if (known) return known
  try {
    await withTimeout(settings.table.caughtUp(), CLIENT_WAIT_MS)
  } catch (err) {
    log.warn({ err }, 'an upload failed: the settings cannot be followed')
    return notUploaded
  }
  return all.get(id) ?? refusalResponse({ code: 'not_found', what: `${kind} ${id}` })
}

const WAIT_MS = 5_000

/** How long a client waits (RFC 7240). */
const preferHeader = {
  prefer: {
    schema: z.string(),
    required: false,
    description:
      '`respond-async`: respond at most 5 s after the upload, or `wait` seconds (`respond-async, wait=20`), even if the sync is not done.',
  },
}

/** @returns ms. Ignores unknown preferences. */
export function waitPreference({ headers }: Pick<ApiRequest, 'headers'>): number {
  const prefer = String(headers.prefer ?? '')
  if (!/(^|,)\s*respond-async\s*(;|,|$)/i.test(prefer)) return Number.POSITIVE_INFINITY
  const seconds = /(?:^|,)\s*wait\s*=\s*"?(\d{1,5})"?\s*(?:;|,|$)/i.exec(prefer)?.[1]
  return seconds === undefined ? WAIT_MS : Number(seconds) * 1_000
}
