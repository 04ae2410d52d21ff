import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { recorded } from '../../delivery/outcome.ts'
import type { Poster } from '../../delivery/post.ts'
import { withoutSecrets } from '../../delivery/redact-response.ts'
import { render } from '../../delivery/render.ts'
import { type Posting, type Request, request } from '../../delivery/request.ts'
import { deliveryId } from '../../delivery/routing.ts'
import type { Logger } from '../../process/log.ts'
import type { Event, EventType } from '../../schemas/event.ts'
import { EMPTY_EVENT } from '../../schemas/event-record.ts'
import { faultsOf } from '../../settings/faults.ts'
import type { Facts } from '../../settings/resources/resource.ts'
import { type Destination, EVENT_TYPES } from '../../settings/settings.ts'
import { attemptShape } from '../activity/attempts.ts'
import { audit } from '../api/audit.ts'
import { type ApiRequest, addPath, json, operation } from '../api/operation.ts'
import { type ApiResponse, invalid, problem, refusalResponse } from '../api/response.ts'

/** Per process. Tests are for debugging, not for load. */
export const MAX_AT_ONCE = 10

/** The result of one POST, in the terms of topic `attempts`; `url` as in the settings. */
export const resultShape = z
  .strictObject({ url: z.string() })
  .extend(
    attemptShape.pick({ outcome: true, status: true, durationMs: true, code: true, response: true }).shape,
  )
  .meta({ id: 'TestResult' })

export type TestSendParts = {
  settings: Pick<Facts, 'destinations'>
  /** Same time limit, address guard and certificates as in the deliverer. Closed by the test. */
  openPoster: () => Poster
  log: Pick<Logger, 'info'>
}

const bodyShape = z
  .strictObject({ type: z.enum(EVENT_TYPES).default('track') })
  .prefault({})
  .meta({ id: 'TestSend' })
const answerShape = z.strictObject({ results: z.array(resultShape) })

const tooMany = problem(
  { code: 'too_many_tests', message: `${MAX_AT_ONCE} test sends are in progress: try again in a moment` },
  { 'retry-after': '1' },
)

export function testSendRoute(api: FastifyInstance, { settings, openPoster, log }: TestSendParts): void {
  const testSends = createTestSends(openPoster)
  // clients get their response before the server waits for their connections
  api.addHook('preClose', async () => testSends.close())

  async function test({ params: { id }, body, caller }: ApiRequest): Promise<ApiResponse> {
    const destination = settings.destinations.get(id)
    if (!destination) return refusalResponse({ code: 'not_found', what: `destination ${id}` })
    const parsed = bodyShape.safeParse(body, { reportInput: true })
    if (!parsed.success) return invalid(faultsOf(parsed.error))
    const { type } = parsed.data
    const now = Date.now()
    const posting = sample(type, { destinationId: id, uuid: randomUUID(), now })
    const results = await testSends.begin({ destination, posting, now })
    if (!results) return tooMany
    const outcomes = results.map(({ outcome, code }) => code ?? outcome)
    audit(log, caller, { what: 'test', outcome: 'sent', id, type, outcomes })
    return { status: 200, body: { results } }
  }

  addPath(api, '/destinations/:id/test', {
    POST: operation({
      summary: 'Send a test event to each webhook of a destination',
      description:
        'Posts a sample just like a delivery, even if the destination is off. Nothing is retried or stored.',
      body: json(bodyShape, false),
      responses: {
        200: { description: 'One result for each webhook, in their order.', body: answerShape },
      },
      errorCodes: ['not_found', 'too_many_tests'],
      handle: test,
    }),
  })
}

export type Result = z.infer<typeof resultShape>

export type PostToAll = { destination: Destination; posting: Posting; now: number }

/**
 * Like a first attempt of the deliverer, but to every webhook regardless of the other results.
 * @returns results in webhook order. Never rejects.
 */
export function postToAll(
  poster: Pick<Poster, 'post'>,
  { destination, posting, now }: PostToAll,
): Promise<Result[]> {
  const requests = destination.webhooks.map((_, urlIndex) =>
    request(posting, { destination, urlIndex, attempt: 1, now }),
  )
  return Promise.all(
    requests.map(async (each) => {
      const result = await post(poster, each)
      return { ...result, response: withoutSecrets(result.response, destination) }
    }),
  )
}

function post(poster: Pick<Poster, 'post'>, request: Request): Promise<Result> {
  return new Promise((resolve) => {
    let heard: Omit<Result, 'response'> | undefined
    poster.post(request, {
      onOutcome(of, durationMs) {
        const { outcome, status, code } = recorded(of)
        heard = { url: request.url, outcome, status, durationMs, code }
      },
      onEnd: (response) => heard && resolve({ ...heard, response }),
    })
  })
}

export type TestSends = {
  /** Resolves within the time limit of a POST, and never rejects. Undefined: too many are in progress. */
  begin(parsed: PostToAll): Promise<Result[]> | undefined
  /** Tests in progress end as `aborted`. */
  close(): Promise<void>
}

/**
 * Each test opens its own connections and closes them: a reused connection or TLS session could hide a
 * problem that exists now.
 */
export function createTestSends(openPoster: () => Poster): TestSends {
  const underWay = new Set<Poster>()
  let closed = false

  async function send(parsed: PostToAll): Promise<Result[]> {
    const poster = openPoster()
    underWay.add(poster)
    try {
      return await postToAll(poster, parsed)
    } finally {
      underWay.delete(poster)
      await poster.close()
    }
  }

  return {
    begin: (parsed) => (closed || underWay.size >= MAX_AT_ONCE ? undefined : send(parsed)),
    async close() {
      closed = true
      await Promise.all([...underWay].map((poster) => poster.close()))
    },
  }
}

const NO_SOURCE = ''

/** `uuid`: random, so that receivers never see an id twice. `now`: ms since 1970. */
export type SampleOf = { destinationId: string; uuid: string; now: number }

/** What a delivery of this type posts, with a made-up user and group. */
export function sample(type: EventType, { destinationId, uuid, now }: SampleOf): Posting {
  const event: Event = {
    ...EMPTY_EVENT,
    sourceId: NO_SOURCE,
    type,
    messageId: `test-${uuid}`,
    userId: 'test-user',
    context: CONTEXT,
    timestamp: now,
    receivedAt: now,
    ...SAMPLES[type],
  }
  const { messageId } = event
  return { deliveryId: deliveryId(destinationId, event), messageId, body: render(event), replay: false }
}

const CONTEXT = JSON.stringify({
  device: { model: 'iPhone7,2', type: 'ios' },
  os: { name: 'iPhone OS', version: '8.1.3' },
  app: { build: '3.0.1.545', name: 'Shop', version: '1.1' },
})

const SAMPLES: Record<EventType, Partial<Event>> = {
  identify: { traits: JSON.stringify({ name: 'Test User', plan: 'pro', logins: 5 }) },
  track: { event: 'Test Event', properties: JSON.stringify({ plan: 'pro', total: '12.50' }) },
  page: {
    properties: JSON.stringify({ path: '/', referrer: '', title: 'Shop', url: 'https://shop.example/' }),
  },
  screen: { name: 'Home' },
  group: { groupId: 'test-group', traits: JSON.stringify({ 'Company Name': 'Test Company', employees: 12 }) },
  alias: { previousId: 'test-user-before' },
  delete: {},
}
