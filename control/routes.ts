import type { FastifyInstance } from 'fastify'
import type { Egress } from '../egress/egress.ts'
import { type Answer, etag, invalid } from './answer.ts'
import { create, type Decided, remove, replace } from './decide.ts'
import { faultsOf } from './faults.ts'
import { type Asked, path } from './http.ts'
import {
  type Facts,
  isReplaceable,
  type Noun,
  type Replaceable,
  type Stamp,
  type Unreachable,
} from './noun.ts'
import { answerToWrite, logWrite, shown } from './outcome.ts'
import { page, pageShape } from './page.ts'
import { versionAsked, versionNeeded } from './precondition.ts'
import { answerTo } from './refusal.ts'
import { unreachableOf } from './unreachable.ts'
import { type Moment, type WriteParts, write } from './write.ts'

export type RouteParts = WriteParts & { egress: Pick<Egress, 'faultOf'> }

/** What a decision goes by beside the settings. */
type Known = Moment & { unreachable: Unreachable }

/** `/<noun>`: list, create. `/<noun>/:id`: get, replace where that can be, remove. */
export function nounRoutes<G extends object, T extends Stamp>(
  api: FastifyInstance,
  noun: Noun<G, T>,
  parts: RouteParts,
): void {
  const records = () => noun.all(parts.settings)

  async function change(
    { who, params, body }: Asked,
    decide: (facts: Facts, known: Known) => Decided<T>,
  ): Promise<Answer> {
    const unreachable = await unreachableOf(noun.urls?.(body) ?? [], parts.egress)
    const outcome = await write(parts, noun.kind, (facts, moment) =>
      decide(facts, { ...moment, unreachable }),
    )
    logWrite(parts.log, { who, noun: noun.kind, id: params.id }, outcome)
    return answerToWrite(outcome, { who, at: `/api/${noun.path}` })
  }

  function put(replaceable: Replaceable<G, T>, request: Asked): Answer | Promise<Answer> {
    const asked = versionAsked(request.headers['if-match'])
    if ('refused' in asked) return asked.refused
    const { version } = asked
    if (version === undefined) return versionNeeded
    const { body, params } = request
    return change(request, (facts, known) =>
      replace(replaceable, { ...known, id: params.id, version, body }, facts),
    )
  }

  path(api, `/${noun.path}`, {
    GET: ({ query, who }) => {
      const asked = pageShape.safeParse(query, { reportInput: true })
      if (!asked.success) return invalid(faultsOf(asked.error))
      const { items, next } = page(records().values(), asked.data)
      return { status: 200, body: { items: items.map((record) => shown(record, who)), next } }
    },
    POST: (request) =>
      change(request, (facts, known) => create(noun, { ...known, body: request.body }, facts)),
  })

  path(api, `/${noun.path}/:id`, {
    GET: ({ params, who }) => {
      const record = records().get(params.id)
      if (!record) return answerTo({ code: 'not_found', what: `${noun.kind} ${params.id}` })
      return { status: 200, headers: { etag: etag(record.version) }, body: shown(record, who) }
    },
    ...(isReplaceable(noun) && { PUT: (request: Asked) => put(noun, request) }),
    DELETE: (request) => {
      const asked = versionAsked(request.headers['if-match'])
      if ('refused' in asked) return asked.refused
      return change(request, (facts) =>
        remove(noun, { id: request.params.id, version: asked.version }, facts),
      )
    },
  })
}
