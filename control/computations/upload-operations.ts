import { z } from 'zod'
import type { Storage } from '../../kafka/storage.ts'
import type { Settings } from '../../schemas/follow.ts'
import type { Computation } from '../../schemas/settings.ts'
import type { Sync } from '../../schemas/task.ts'
import { type Answer, invalid, problem } from '../http/answer.ts'
import { type Asked, json, operation } from '../http/operation.ts'
import { answerTo } from '../http/refusal.ts'
import { patiently } from '../patience.ts'
import type { Facts } from '../settings/noun.ts'
import { unavailable } from '../settings/outcome.ts'
import { isNdjson, readAsStream, textOf, wrongType } from './body.ts'
import { changesIn, jsonMember, plainMember, type ReadLine, traitValue } from './entry.ts'
import { LINE_CODES } from './lines.ts'
import { patchShape, readPatch } from './patch.ts'
import { patienceOf, preferHeader } from './prefer.ts'
import { syncShape } from './shown.ts'
import { type SyncRouteParts, syncer } from './sync.ts'

export type ComputationRouteParts = SyncRouteParts & {
  settings: Pick<Facts, 'audiences' | 'traits'> & { table: Pick<Settings['table'], 'caughtUp'> }
  storage: Pick<Storage, 'shortage'>
}

const allowEmptyShape = z.strictObject({
  allowEmpty: z
    .enum(['true', 'false'])
    .optional()
    .describe('`true`: an upload that names nobody is taken, and removes all.'),
})

const answers = {
  200: { description: 'What has come of it.', body: syncShape },
  202: {
    description: 'It is taken, and goes on: `Prefer: respond-async` was given, or this process ends.',
    body: syncShape.pick({ id: true, state: true }),
    headers: ['location'],
  },
} as const

/** Without one nobody is named. */
const lines = { required: false, types: { 'text/plain': z.string(), 'application/x-ndjson': z.string() } }
const refuses = [
  ...LINE_CODES,
  'upload_broken',
  'unsupported_encoding',
  'not_found',
  'sync_running',
  'storage_full',
] as const

/** What says who is in an audience, and what users' traits are. @param ends the process ends. */
export function uploadOperations(parts: ComputationRouteParts, ends: AbortSignal) {
  const { put, patch } = uploader(parts, ends)
  const members = {
    PUT: operation({
      summary: 'Say who all members of an audience are',
      description:
        'One user id a line, or one JSON string or `{"userId"}` a line; of any length, also with `Content-Encoding: gzip`. Who joined or left since the last sync is told of with an identify call.',
      query: allowEmptyShape,
      headers: preferHeader,
      body: lines,
      answers,
      refuses: [...refuses, 'empty_upload'],
      handle: (request) =>
        put(request, {
          kind: 'audience',
          readLine: isNdjson(request) ? jsonMember : plainMember,
          mayBeEmpty: request.query.allowEmpty === 'true',
        }),
    }),
    PATCH: operation({
      summary: 'Say who joins an audience, and who leaves it',
      headers: preferHeader,
      body: json(patchShape),
      answers,
      refuses: ['not_found', 'sync_running', 'storage_full'],
      handle: patch,
    }),
  }
  const values = {
    PUT: operation({
      summary: 'Say which values users have of a trait',
      description:
        'One `{"userId", "value"}` a line; null takes the value away, and who is not named keeps theirs. Each changed value is told of with an identify call.',
      headers: preferHeader,
      body: lines,
      answers,
      refuses,
      handle: (request) => put(request, { kind: 'trait', readLine: traitValue, mayBeEmpty: true }),
    }),
  }
  return { members, values }
}

type Putting = { kind: Sync['of']['kind']; readLine: ReadLine; mayBeEmpty: boolean }

function uploader(parts: ComputationRouteParts, ends: AbortSignal) {
  const sync = syncer(parts)

  async function put(request: Asked, { kind, readLine, mayBeEmpty }: Putting): Promise<Answer> {
    const { caller, params } = request
    const patienceMs = patienceOf(request)
    const of = { kind, id: params.id }
    const found = await computationOf(of, parts)
    if ('status' in found) return found
    const read = textOf(request)
    if ('refused' in read) return read.refused
    const changes = changesIn(read.text, readLine)
    // of a trait it is said only who has which value, of an audience who all its members are
    const others = kind === 'audience' ? 'removed' : 'stay'
    const wanted = { of, since: found.createdAt, others, changes, mayBeEmpty, patienceMs, ends } as const
    return sync({ ...wanted, caller })
  }

  async function patch({ caller, params: { id }, headers, body }: Asked): Promise<Answer> {
    if (readAsStream(body)) return wrongType('Send JSON with Content-Type: application/json')
    const of = { kind: 'audience', id } as const
    const found = await computationOf(of, parts)
    if ('status' in found) return found
    const read = readPatch(body)
    if ('faults' in read) return invalid(read.faults)
    const changes = [read.changes]
    return sync({
      caller,
      of,
      since: found.createdAt,
      others: 'stay',
      changes,
      mayBeEmpty: true,
      patienceMs: patienceOf({ headers }),
      ends,
    })
  }

  return { put, patch }
}

/** As ingest takes no calls then. */
const storageFull = problem(
  { code: 'storage_full', message: "Kafka's disk is almost full, and no uploads are taken: try again later" },
  { 'retry-after': '30' },
)

/** Another instance may just have made it. */
async function computationOf(
  { kind, id }: Sync['of'],
  { settings, storage, log }: ComputationRouteParts,
): Promise<Computation | Answer> {
  if (storage.shortage()) return storageFull
  const all = kind === 'audience' ? settings.audiences : settings.traits
  const known = all.get(id)
  if (known) return known
  try {
    await patiently(settings.table.caughtUp())
  } catch (err) {
    log.warn({ err }, 'an upload cannot be taken: the settings cannot be followed')
    return unavailable
  }
  return all.get(id) ?? answerTo({ code: 'not_found', what: `${kind} ${id}` })
}
