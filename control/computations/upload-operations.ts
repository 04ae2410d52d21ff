import { z } from 'zod'
import type { Settings } from '../../schemas/follow.ts'
import type { Sync } from '../../schemas/task.ts'
import { type Answer, invalid } from '../answer.ts'
import type { Facts } from '../noun.ts'
import { type Asked, json, operation } from '../operation.ts'
import { unavailable } from '../outcome.ts'
import { patiently } from '../patience.ts'
import { answerTo } from '../refusal.ts'
import { isNdjson, readAsStream, textOf, wrongType } from './body.ts'
import { changesIn, jsonMember, plainMember, type ReadLine, traitValue } from './entry.ts'
import { LINE_CODES } from './lines.ts'
import { patchShape, readPatch } from './patch.ts'
import { syncShape } from './shown.ts'
import { type SyncRouteParts, syncer } from './sync.ts'

export type ComputationRouteParts = SyncRouteParts & {
  settings: Pick<Facts, 'audiences' | 'traits'> & { table: Pick<Settings['table'], 'caughtUp'> }
}

const allowEmptyShape = z.strictObject({ allowEmpty: z.enum(['true', 'false']).optional() })

const answers = {
  200: { description: 'What has come of it.', body: syncShape },
  202: {
    description: 'It is taken, and goes on in another process as this one ends.',
    body: syncShape.pick({ id: true, state: true }),
    headers: ['location'],
  },
} as const

/** Without one nobody is named. */
const lines = { required: false, types: { 'text/plain': z.string(), 'application/x-ndjson': z.string() } }
const refuses = [...LINE_CODES, 'upload_broken', 'unsupported_encoding', 'not_found', 'sync_running'] as const

/** What says who is in an audience, and what users' traits are. @param ends the process ends. */
export function uploadOperations(parts: ComputationRouteParts, ends: AbortSignal) {
  const { put, patch } = uploader(parts, ends)
  const members = {
    PUT: operation({
      summary: 'Say who all members of an audience are',
      description:
        'One user id a line, or one JSON string or `{"userId"}` a line; of any length, also with `Content-Encoding: gzip`. Who joined or left since the last sync is told of with an identify call.',
      query: allowEmptyShape,
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
      body: json(patchShape),
      answers,
      refuses: ['not_found', 'sync_running'],
      handle: patch,
    }),
  }
  const values = {
    PUT: operation({
      summary: 'Say which values users have of a trait',
      description:
        'One `{"userId", "value"}` a line; null takes the value away, and who is not named keeps theirs. Each changed value is told of with an identify call.',
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
    const { who, by, params } = request
    const of = { kind, id: params.id }
    const refused = await missing(of, parts)
    if (refused) return refused
    const read = textOf(request)
    if ('refused' in read) return read.refused
    const changes = changesIn(read.text, readLine)
    // of a trait it is said only who has which value, of an audience who all its members are
    const others = kind === 'audience' ? 'removed' : 'stay'
    return sync({ caller: { who, by }, of, others, changes, mayBeEmpty, ends })
  }

  async function patch({ who, by, params: { id }, body }: Asked): Promise<Answer> {
    if (readAsStream(body)) return wrongType('Send JSON with Content-Type: application/json')
    const of = { kind: 'audience', id } as const
    const refused = await missing(of, parts)
    if (refused) return refused
    const read = readPatch(body)
    if ('faults' in read) return invalid(read.faults)
    const changes = [read.changes]
    return sync({ caller: { who, by }, of, others: 'stay', changes, mayBeEmpty: true, ends })
  }

  return { put, patch }
}

/** Another instance may just have made it. */
async function missing(
  { kind, id }: Sync['of'],
  { settings, log }: ComputationRouteParts,
): Promise<Answer | undefined> {
  const all = kind === 'audience' ? settings.audiences : settings.traits
  if (all.has(id)) return undefined
  try {
    await patiently(settings.table.caughtUp())
  } catch (err) {
    log.warn({ err }, 'an upload cannot be taken: the settings cannot be followed')
    return unavailable
  }
  return all.has(id) ? undefined : answerTo({ code: 'not_found', what: `${kind} ${id}` })
}
