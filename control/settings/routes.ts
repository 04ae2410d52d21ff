import type { FastifyInstance } from 'fastify'
import type { Egress } from '../../egress/egress.ts'
import type { Decided } from '../../settings/resources/decide.ts'
import type { Facts, Noun, Stamp, Unreachable } from '../../settings/resources/resource.ts'
import type { Answer } from '../api/response.ts'
import { path } from '../api/serve.ts'
import { draftOf, type Known, operationsOnAll, operationsOnOne, type Writing } from './operations.ts'
import { type Moment, tryOut, type WriteParts, write } from './write.ts'
import { answerToDryRun, answerToWrite, logWrite } from './write-response.ts'

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
