import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Poster } from '../../deliverer/post/post.ts'
import type { Logger } from '../../log.ts'
import { EVENT_TYPES } from '../../schemas/settings.ts'
import { audit } from '../audit.ts'
import { type Answer, invalid, problem } from '../http/answer.ts'
import { faultsOf } from '../http/faults.ts'
import { type Asked, json, operation } from '../http/operation.ts'
import { answerTo } from '../http/refusal.ts'
import { path } from '../http/serve.ts'
import type { Facts } from '../settings/noun.ts'
import { resultShape } from './post-to-all.ts'
import { sample } from './sample.ts'
import { createTestSends, MOST_AT_ONCE } from './test-sends.ts'

export type TestSendParts = {
  settings: Pick<Facts, 'destinations'>
  /** As the deliverer has it, with its time limit, its guard and its roots. It is closed here. */
  openPoster: () => Poster
  log: Pick<Logger, 'info'>
}

const bodyShape = z
  .strictObject({ type: z.enum(EVENT_TYPES).default('track') })
  .prefault({})
  .meta({ id: 'TestSend' })
const answerShape = z.strictObject({ results: z.array(resultShape) })

const tooMany = problem(
  { code: 'too_many_tests', message: `${MOST_AT_ONCE} test sends are under way: try again in a moment` },
  { 'retry-after': '1' },
)

/** `/destinations/:id/test`: posts a sample to each URL now, also of a destination that is off. Nothing is kept or tried again. */
export function testSendRoute(api: FastifyInstance, { settings, openPoster, log }: TestSendParts): void {
  const testSends = createTestSends(openPoster)
  // whoever waits for a test is answered before the server waits for its connections
  api.addHook('preClose', async () => testSends.close())

  async function test({ params: { id }, body, caller }: Asked): Promise<Answer> {
    const destination = settings.destinations.get(id)
    if (!destination) return answerTo({ code: 'not_found', what: `destination ${id}` })
    const asked = bodyShape.safeParse(body, { reportInput: true })
    if (!asked.success) return invalid(faultsOf(asked.error))
    const { type } = asked.data
    const now = Date.now()
    const posting = sample(type, { destinationId: id, uuid: randomUUID(), now })
    const results = await testSends.begin({ destination, posting, now })
    if (!results) return tooMany
    const outcomes = results.map(({ outcome, code }) => code ?? outcome)
    audit(log, caller, { what: 'test', outcome: 'sent', id, type, outcomes })
    return { status: 200, body: { results } }
  }

  path(api, '/destinations/:id/test', {
    POST: operation({
      summary: 'Post a sample to each URL of a destination now',
      description: 'As a delivery would, also while it is off. Nothing is tried again or kept.',
      body: json(bodyShape, false),
      answers: {
        200: { description: 'What came of each, in the order of the webhooks.', body: answerShape },
      },
      refuses: ['not_found', 'too_many_tests'],
      handle: test,
    }),
  })
}
