import type { FastifyInstance } from 'fastify'
import { type Answer, etag, invalid } from './answer.ts'
import { create, remove, replace } from './decide.ts'
import { faultsOf } from './faults.ts'
import { type Asked, path } from './http.ts'
import { isReplaceable, type Noun, type Replaceable, type Stamp } from './noun.ts'
import { answerToWrite, logWrite, shown } from './outcome.ts'
import { page, pageShape } from './page.ts'
import { versionAsked, versionNeeded } from './precondition.ts'
import { answerTo } from './refusal.ts'
import { type Decide, type WriteParts, write } from './write.ts'

/** `/<noun>`: list, create. `/<noun>/:id`: get, replace where that can be, remove. */
export function nounRoutes<G extends object, T extends Stamp>(
  api: FastifyInstance,
  noun: Noun<G, T>,
  parts: WriteParts,
): void {
  const records = () => noun.all(parts.settings)

  async function change({ who, params }: Asked, decide: Decide<T>): Promise<Answer> {
    const outcome = await write(parts, noun.kind, decide)
    logWrite(parts.log, { who, noun: noun.kind, id: params.id }, outcome)
    return answerToWrite(outcome, { who, at: `/api/${noun.path}` })
  }

  function put(replaceable: Replaceable<G, T>, request: Asked): Answer | Promise<Answer> {
    const asked = versionAsked(request.headers['if-match'])
    if ('refused' in asked) return asked.refused
    const { version } = asked
    if (version === undefined) return versionNeeded
    const { body, params } = request
    return change(request, (facts, moment) =>
      replace(replaceable, { ...moment, id: params.id, version, body }, facts),
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
      change(request, (facts, moment) => create(noun, { ...moment, body: request.body }, facts)),
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
