import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Egress } from '../../egress/egress.ts'
import { create, type Decided, missing, remove, replace } from '../../settings/resources/decide.ts'
import {
  type Facts,
  isReplaceable,
  type Noun,
  type Replaceable,
  type Stamp,
  type Unreachable,
} from '../../settings/resources/resource.ts'
import { type Asked, json, type Operation, operation, path } from '../api/operation.ts'
import { page, pageOf, pageShape } from '../api/pagination.ts'
import { type Answer, answerTo, etag, ifMatch, versionAsked, versionNeeded } from '../api/response.ts'
import { type Moment, tryOut, type WriteParts, write } from './write.ts'
import { answerToDryRun, answerToWrite, logWrite, shown } from './write-response.ts'

export type RouteParts = WriteParts & { egress: Pick<Egress, 'faultOf'> }

/** `/<noun>`: list, create. `/<noun>/:id`: get, replace where that can be, remove. */
export function nounRoutes<G extends object, T extends Stamp>(
  api: FastifyInstance,
  noun: Noun<G, T>,
  parts: RouteParts & { onRemoved?: (id: string) => Promise<void> },
): void {
  const { kind } = noun

  async function change(
    { who, caller, params, body, query }: Writing,
    decide: (facts: Facts, known: Known) => Decided<T>,
  ): Promise<Answer> {
    const unreachable = await unreachableOf(noun.urls?.(body) ?? [], parts.egress)
    const deciding = (facts: Facts, moment: Moment) => decide(facts, { ...moment, unreachable })
    if (query.dryRun === 'true') return answerToDryRun(await tryOut(parts, kind, deciding), who)
    const outcome = await write(parts, kind, deciding)
    logWrite(parts.log, { caller, what: kind, id: params.id }, outcome)
    if (typeof outcome === 'object' && 'record' in outcome && outcome.record === null)
      await parts.onRemoved?.(outcome.id)
    return answerToWrite(outcome, { who, at: `/api/${noun.path}` })
  }

  const facts = parts.settings
  const serving = { noun, draft: draftOf(noun.shown), facts, records: () => noun.all(facts), change }
  path(api, `/${noun.path}`, operationsOnAll(serving))
  path(api, `/${noun.path}/:id`, operationsOnOne(serving))
}

/** What a decision goes by beside the settings. */
export type Known = Moment & { unreachable: Unreachable }

/** A request to write, which may be a dry run. */
export type Writing = Asked<z.output<typeof dryRunShape>>

type Serving<G extends object, T extends Stamp> = {
  noun: Noun<G, T>
  /** What a dry run answers. */
  draft: z.ZodType
  facts: Facts
  records: () => ReadonlyMap<string, T>
  /** Decides, writes unless it is a dry run, and answers. */
  change: (request: Writing, decide: (facts: Facts, known: Known) => Decided<T>) => Promise<Answer>
}

const MISSING = ['not_found', 'setting_unreadable'] as const
const AT_A_VERSION = [...MISSING, 'invalid_if_match', 'version_mismatch'] as const

const DRY_RUN =
  'What a dry run would write, secrets masked. An id or a write key that is made will be another.'

const a = (kind: string) => `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`

const shownOf = ({ kind, shown }: Pick<Noun<never, never>, 'kind' | 'shown'>) =>
  ({ description: `The ${kind}, secrets masked.`, body: shown, headers: ['etag'] }) as const

/** List, create. */
export function operationsOnAll<G extends object, T extends Stamp>(serving: Serving<G, T>) {
  const { noun, draft, records, change } = serving
  return {
    GET: operation({
      summary: `List ${noun.path}`,
      query: pageShape,
      answers: { 200: { description: 'A page, in the order of ids.', body: pageOf(noun.shown) } },
      handle({ query, who }) {
        const { items, next } = page(records().values(), query)
        return { status: 200, body: { items: items.map((record) => shown(record, who)), next } }
      },
    }),
    POST: operation({
      summary: `Create ${a(noun.kind)}`,
      query: dryRunShape,
      body: json(noun.create),
      answers: {
        200: { description: DRY_RUN, body: draft },
        201: { ...shownOf(noun), headers: ['etag', 'location'] },
      },
      refuses: noun.conflicts.create,
      handle: (request) =>
        change(request, (facts, known) => create(noun, { ...known, body: request.body }, facts)),
    }),
  }
}

/** Show, replace where that can be, remove. */
export function operationsOnOne<G extends object, T extends Stamp>(
  serving: Serving<G, T>,
): Record<string, Operation> {
  const { noun, facts, records, change } = serving
  return {
    GET: operation({
      summary: `Show ${a(noun.kind)}`,
      answers: { 200: shownOf(noun) },
      refuses: MISSING,
      handle({ params, who }) {
        const record = records().get(params.id)
        if (!record) return answerTo(missing(noun, params.id, facts))
        return { status: 200, headers: { etag: etag(record.version) }, body: shown(record, who) }
      },
    }),
    ...(isReplaceable(noun) && { PUT: replacement(noun, serving) }),
    DELETE: operation({
      summary: `Remove ${a(noun.kind)}`,
      query: dryRunShape,
      headers: ifMatch(false),
      answers: { 204: { description: 'It is gone, or in a dry run: it could be.' } },
      refuses: [...AT_A_VERSION, ...noun.conflicts.remove],
      handle(request) {
        const asked = versionAsked(request.headers['if-match'])
        if ('refused' in asked) return asked.refused
        return change(request, (facts) =>
          remove(noun, { id: request.params.id, version: asked.version }, facts),
        )
      },
    }),
  }
}

function replacement<G extends object, T extends Stamp>(
  noun: Replaceable<G, T>,
  { draft, change }: Serving<G, T>,
): Operation {
  return operation({
    summary: `Replace ${a(noun.kind)}`,
    description: '`"***"` keeps the secret that there is; that of a header goes with the URL of its webhook.',
    query: dryRunShape,
    headers: ifMatch(true),
    body: json(noun.replace),
    answers: { 200: { ...shownOf(noun), body: z.union([noun.shown, draft]) } },
    refuses: [...AT_A_VERSION, 'precondition_required', ...noun.conflicts.replace],
    handle(request) {
      const asked = versionAsked(request.headers['if-match'])
      if ('refused' in asked) return asked.refused
      const { version } = asked
      if (version === undefined) return versionNeeded
      const { body, params } = request
      return change(request, (facts, known) =>
        replace(noun, { ...known, id: params.id, version, body }, facts),
      )
    },
  })
}

/** Of what would be written. */
export const dryRunShape = z.strictObject({
  dryRun: z
    .enum(['true', 'false'])
    .optional()
    .describe('`true`: all is judged and answered as if it were so, and nothing is written.'),
})

/** What a dry run of a write answers. @param shown of a record, with its id of the description. */
export const draftOf = (shown: z.ZodObject) =>
  shown
    .extend({
      changed: z
        .array(z.string())
        .describe(
          'JSON pointers (RFC 6901) of the fields that would be others than now, secrets too. Empty: nothing would be.',
        ),
    })
    .meta({ id: `${shown.meta()?.id}Draft` })

/** Vets URLs by the addresses of their hosts now, all at once. What is no URL for webhooks its shape refuses. */
export async function unreachableOf(
  urls: readonly string[],
  egress: Pick<Egress, 'faultOf'>,
): Promise<Unreachable> {
  const found = new Map<string, string>()
  await Promise.all(
    urls.map(async (url) => {
      const parsed = URL.parse(url)
      const fault = parsed && /^https?:$/.test(parsed.protocol) && (await egress.faultOf(parsed))
      if (fault) found.set(url, fault)
    }),
  )
  return found
}
