import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Egress } from '../../egress/egress.ts'
import {
  create,
  type Decided,
  missing,
  type Refusal,
  remove,
  replace,
} from '../../settings/resources/decide.ts'
import {
  type Facts,
  isReplaceable,
  type Replaceable,
  type Resource,
  type Stamp,
  type Unreachable,
} from '../../settings/resources/resource.ts'
import { createdIn, visibleRecord, visibleTo } from '../../settings/resources/workspaces.ts'
import type { Kind } from '../../settings/settings.ts'
import type { Caller } from '../api/auth/tokens.ts'
import { type ApiRequest, addPath, flag, json, type Operation, operation } from '../api/operation.ts'
import { page, pageOf, pageShape } from '../api/pagination.ts'
import {
  type ApiResponse,
  etag,
  ifMatch,
  invalid,
  refusalResponse,
  versionAsked,
  versionNeeded,
} from '../api/response.ts'
import { type Moment, type WriteParts, write, writeDry } from './write.ts'
import { dryRunResponse, logWrite, shown, writeResponse } from './write-response.ts'

export type RouteParts = WriteParts & { egress: Pick<Egress, 'faultOf'> }

/** Called when someone asks for one record. @returns the answer if it must not be shown. */
type ShowRefusal = (caller: Caller) => ApiResponse | undefined

export function resourceRoutes<G extends object, T extends Stamp>(
  api: FastifyInstance,
  resource: Resource<G, T>,
  parts: RouteParts & { onRemoved?: (id: string) => Promise<void>; showRefusal?: ShowRefusal },
): void {
  const { kind } = resource

  async function change(
    { who, caller, params, body, query }: Writing,
    decide: (facts: Facts, known: Known) => Decided<T>,
  ): Promise<ApiResponse> {
    const unreachable = await unreachableOf(resource.urls?.(body) ?? [], parts.egress)
    let { id } = params
    const deciding = (facts: Facts, moment: Moment) => {
      const hidden = hiddenFrom(caller, resource, params.id, facts)
      if (hidden) return { refusal: hidden }
      const decided = decide(facts, { ...moment, unreachable })
      if ('id' in decided) id = decided.id
      return decided
    }
    if (query.dryRun === 'true') return dryRunResponse(await writeDry(parts, kind, deciding), who)
    const outcome = await write(parts, kind, deciding)
    logWrite(parts.log, { caller, what: kind, id }, outcome)
    if (typeof outcome === 'object' && 'record' in outcome && outcome.record === null)
      await parts.onRemoved?.(outcome.id)
    return writeResponse(outcome, { who, at: `/api/${resource.path}` })
  }

  const facts = parts.settings
  const serving = {
    resource,
    draft: draftOf(resource.responseShape),
    facts,
    records: (caller: Caller) => visibleTo(caller, resource.all(facts)),
    change,
    showRefusal: parts.showRefusal,
  }
  addPath(api, `/${resource.path}`, operationsOnAll(serving))
  addPath(api, `/${resource.path}/:id`, operationsOnOne(serving))
}

export type Known = Moment & { unreachable: Unreachable }

export type Writing = ApiRequest<z.output<typeof dryRunShape>>

type Serving<G extends object, T extends Stamp> = {
  resource: Resource<G, T>
  draft: z.ZodType
  facts: Facts
  /** Those that the caller may see. */
  records: (caller: Caller) => ReadonlyMap<string, T>
  /** Decides, writes unless it is a dry run, and responds. */
  change: (request: Writing, decide: (facts: Facts, known: Known) => Decided<T>) => Promise<ApiResponse>
  showRefusal: ShowRefusal | undefined
}

const MISSING = ['not_found', 'setting_unreadable'] as const
const AT_A_VERSION = [...MISSING, 'invalid_if_match', 'version_mismatch'] as const

/** How a replacement keeps what a response masks. */
const KEPT: Partial<Record<Kind, string>> = {
  source: '`"***"` keeps the current write key.',
  destination:
    '`"***"` keeps the current secret. In a header, it keeps the value of the webhook with the same URL.',
}

const DRY_RUN =
  'Dry run: the record that would be written, secrets masked. A generated id or write key will differ.'

const a = (kind: string) => `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`

const shownOf = ({ kind, responseShape }: Pick<Resource<never, never>, 'kind' | 'responseShape'>) =>
  ({ description: `The ${kind}, secrets masked.`, body: responseShape, headers: ['etag'] }) as const

function operationsOnAll<G extends object, T extends Stamp>(serving: Serving<G, T>) {
  const { resource, draft, records, change } = serving
  return {
    GET: operation({
      summary: `List ${resource.path}`,
      query: pageShape,
      responses: {
        200: { description: 'A page, in id order.', body: pageOf(resource.responseShape) },
      },
      inWorkspace: resource.inWorkspace !== undefined,
      handle({ query, who, caller }) {
        const { items, next } = page(records(caller).values(), query)
        return { status: 200, body: { items: items.map((record) => shown(record, who)), next } }
      },
    }),
    POST: operation({
      summary: `Create ${a(resource.kind)}`,
      query: dryRunShape,
      body: json(resource.create),
      responses: {
        200: { description: DRY_RUN, body: draft },
        201: { ...shownOf(resource), headers: ['etag', 'location'] },
      },
      errorCodes: resource.conflicts.create,
      inWorkspace: resource.inWorkspace === 'write',
      handle(request) {
        const created = createdIn(request.caller, request.body)
        if ('faults' in created) return invalid(created.faults)
        const { body } = created
        return change({ ...request, body }, (facts, known) => create(resource, { ...known, body }, facts))
      },
    }),
  }
}

function operationsOnOne<G extends object, T extends Stamp>(
  serving: Serving<G, T>,
): Record<string, Operation> {
  const { resource, facts, change, showRefusal } = serving
  return {
    GET: operation({
      summary: `Show ${a(resource.kind)}`,
      responses: { 200: shownOf(resource) },
      errorCodes: showRefusal ? [...MISSING, 'too_many_searches'] : MISSING,
      inWorkspace: resource.inWorkspace !== undefined,
      handle({ params, who, caller }) {
        const refused = showRefusal?.(caller)
        if (refused) return refused
        const hidden = hiddenFrom(caller, resource, params.id, facts)
        if (hidden) return refusalResponse(hidden)
        const record = resource.all(facts).get(params.id)
        if (!record) return refusalResponse(missing(resource, params.id, facts))
        return { status: 200, headers: { etag: etag(record.version) }, body: shown(record, who) }
      },
    }),
    ...(isReplaceable(resource) && { PUT: replacement(resource, serving) }),
    DELETE: operation({
      summary: `Remove ${a(resource.kind)}`,
      query: dryRunShape,
      headers: ifMatch(false),
      responses: { 204: { description: 'Removed; in a dry run: can be removed.' } },
      errorCodes: [...AT_A_VERSION, ...resource.conflicts.remove],
      inWorkspace: resource.inWorkspace === 'write',
      handle(request) {
        const ifMatchVersion = versionAsked(request.headers['if-match'])
        if ('refused' in ifMatchVersion) return ifMatchVersion.refused
        return change(request, (facts) =>
          remove(resource, { id: request.params.id, version: ifMatchVersion.version }, facts),
        )
      },
    }),
  }
}

function replacement<G extends object, T extends Stamp>(
  resource: Replaceable<G, T>,
  { draft, change }: Serving<G, T>,
): Operation {
  const kept = KEPT[resource.kind]
  return operation({
    summary: `Replace ${a(resource.kind)}`,
    ...(kept !== undefined && { description: kept }),
    query: dryRunShape,
    headers: ifMatch(true),
    body: json(resource.replace),
    responses: { 200: { ...shownOf(resource), body: z.union([resource.responseShape, draft]) } },
    errorCodes: [...AT_A_VERSION, 'precondition_required', ...resource.conflicts.replace],
    inWorkspace: resource.inWorkspace === 'write',
    handle(request) {
      const ifMatchVersion = versionAsked(request.headers['if-match'])
      if ('refused' in ifMatchVersion) return ifMatchVersion.refused
      const { version } = ifMatchVersion
      if (version === undefined) return versionNeeded
      const { body, params } = request
      return change(request, (facts, known) =>
        replace(resource, { ...known, id: params.id, version, body }, facts),
      )
    },
  })
}

/** Looks the same as a record that does not exist. */
function hiddenFrom<G extends object, T extends Stamp>(
  caller: Caller,
  resource: Resource<G, T>,
  id: string | undefined,
  facts: Facts,
): Refusal | undefined {
  if (caller.workspaceId === undefined || id === undefined) return undefined
  if (visibleRecord(caller, resource.all(facts), id)) return undefined
  return { code: 'not_found', what: `${resource.kind} ${id}` }
}

const dryRunShape = z.strictObject({
  dryRun: flag('`true`: checks the request and responds as usual, but writes nothing.'),
})

/** @param shown the record's schema, with its OpenAPI id. */
const draftOf = (shown: z.ZodObject) =>
  shown
    .extend({
      changed: z
        .array(z.string())
        .describe(
          'JSON pointers (RFC 6901) of the fields that would change, secrets included. Empty: nothing would change.',
        ),
    })
    .meta({ id: `${shown.meta()?.id}Draft` })

/** Skips text that is no webhook URL: its schema rejects it. */
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
