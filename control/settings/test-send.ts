import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { type ResponseHead, recorded } from '../../delivery/outcome.ts'
import type { Poster } from '../../delivery/post/post.ts'
import { withoutSecrets } from '../../delivery/redact-response.ts'
import { type Posting, type Request, request } from '../../delivery/request.ts'
import type { Logger } from '../../process/log.ts'
import { faultsOf } from '../../settings/faults.ts'
import { MASK } from '../../settings/mask.ts'
import { unread } from '../../settings/resources/decide.ts'
import type { Facts } from '../../settings/resources/resource.ts'
import { visibleRecord } from '../../settings/resources/workspaces.ts'
import { type Destination, EVENT_TYPES } from '../../settings/settings.ts'
import { attemptShape } from '../activity/attempts.ts'
import { audit } from '../api/audit.ts'
import { createLimit } from '../api/concurrency.ts'
import { type ApiRequest, addPath, json, operation } from '../api/operation.ts'
import { type ApiResponse, invalid, problem, refusalResponse } from '../api/response.ts'
import { callShape, sampleEvent, testEvent } from './test-call.ts'
import { ruledPosting, testedRulesShape } from './test-rules.ts'

/** Per process. Tests are for debugging, not for load. Workspaces share half of the places. */
const MAX_AT_ONCE = 10
const MAX_BY_WORKSPACES = 5

const headersShape = z.record(z.string(), z.string())

/** As in topic `attempts`. */
const resultShape = z
  .strictObject({ url: z.string() })
  .extend(
    attemptShape.pick({ outcome: true, status: true, durationMs: true, code: true, response: true }).shape,
  )
  .extend({
    responseHeaders: headersShape.nullable().describe('Null without a response.'),
    sent: z
      .boolean()
      .describe(
        'Whether the request left Sluice. False if the address or certificate was refused, or no connection was made.',
      ),
    request: z
      .strictObject({ headers: headersShape, body: z.string() })
      .describe('All headers in the order sent, and the exact body. Values of configured headers are `***`.'),
  })
  .meta({ id: 'TestResult' })

export type TestSendParts = {
  settings: Pick<Facts, 'destinations' | 'unreadable'>
  /** With the time limit, address guard and certificates of the deliverer. */
  openPoster: () => Poster
  log: Pick<Logger, 'info'>
}

const bodyShape = z
  .strictObject({
    type: z.enum(EVENT_TYPES).optional().describe('Sends the sample of this type. Default: `track`.'),
    call: callShape.optional().describe('Sends this call instead of a sample.'),
  })
  .refine(({ type, call }) => type === undefined || call === undefined, {
    path: ['type'],
    message: 'leave it out: the call has its own type',
  })
  .prefault({})
  .meta({ id: 'TestSend' })
const answerShape = z.strictObject({
  results: z.array(resultShape),
  rules: testedRulesShape
    .nullable()
    .describe(
      'What the rules of the destination would do with a real event like this; null if it has no rules. A test redacts and shapes, but ignores filter and sample. If the rules fail, `results` is empty.',
    ),
})

const tooMany = problem(
  { code: 'too_many_tests', message: 'Too many test sends are in progress: try again in a moment' },
  { 'retry-after': '1' },
)

export function testSendRoute(api: FastifyInstance, { settings, openPoster, log }: TestSendParts): void {
  const testSends = createTestSends(openPoster)
  const limitWorkspaces = createLimit(MAX_BY_WORKSPACES)
  // clients get their response before the server waits for connections
  api.addHook('preClose', async () => testSends.close())

  async function test({ params: { id }, body, caller }: ApiRequest): Promise<ApiResponse> {
    const destination = visibleRecord(caller, settings.destinations, id)
    // to another workspace, an unreadable destination does not exist
    const isHidden = !destination && caller.workspaceId !== undefined
    const refusal = isHidden ? undefined : unread({ kind: 'destination' }, id, settings)
    if (refusal) return refusalResponse(refusal)
    if (!destination) return refusalResponse({ code: 'not_found', what: `destination ${id}` })
    const parsed = bodyShape.safeParse(body, { reportInput: true })
    if (!parsed.success) return invalid(faultsOf(parsed.error, bodyShape))
    const { call, type = call?.type ?? 'track' } = parsed.data
    const now = Date.now()
    // rules may use `sourceId`
    const [sourceId = ''] = destination.sourceIds
    const of = { uuid: randomUUID(), now, sourceId }
    const { posting, rules } = ruledPosting(call ? testEvent(call, of) : sampleEvent(type, of), destination)
    const begin = async () => (posting ? testSends.begin({ destination, posting, now }) : [])
    const results = await (caller.workspaceId === undefined ? begin() : limitWorkspaces(begin))
    if (!results) return tooMany
    const outcomes = results.map(({ outcome, code }) => code ?? outcome)
    audit(log, caller, { what: 'test', outcome: 'sent', id, type, outcomes })
    return { status: 200, body: { results, rules } }
  }

  addPath(api, '/destinations/:id/test', {
    POST: operation({
      summary: 'Send a test event to each webhook of a destination',
      description:
        'Posts a sample or the given call just like a delivery, even if the destination is off, and returns what was sent and received. Nothing is retried or stored.',
      body: json(bodyShape, false),
      responses: {
        200: { description: 'One result for each webhook, in their order.', body: answerShape },
      },
      errorCodes: ['not_found', 'setting_unreadable', 'too_many_tests'],
      inWorkspace: true,
      handle: test,
    }),
  })
}

export type Result = z.infer<typeof resultShape>

export type PostToAll = { destination: Destination; posting: Posting; now: number }

/**
 * Like a first attempt, but to every webhook.
 * @returns results in webhook order. Never rejects.
 */
function postToAll(
  poster: Pick<Poster, 'post'>,
  { destination, posting, now }: PostToAll,
): Promise<Result[]> {
  return Promise.all(
    destination.webhooks.map(async ({ headers: configured }, urlIndex) => {
      const sent = request(posting, { destination, urlIndex, attempt: 1, now })
      const { response, responseHeaders, ...result } = await post(poster, sent)
      return {
        ...result,
        response: withoutSecrets(response, destination),
        responseHeaders: responseHeaders && shownHeaders(responseHeaders, destination),
        request: { headers: requestHeaders(sent, configured), body: sent.body },
      }
    }),
  )
}

type Posted = Omit<Result, 'request' | 'responseHeaders'> & {
  responseHeaders: ResponseHead['headers'] | null
}

function post(poster: Pick<Poster, 'post'>, request: Request): Promise<Posted> {
  return new Promise((resolve) => {
    let responseHeaders: Posted['responseHeaders'] = null
    let ended: Omit<Posted, 'response' | 'responseHeaders'> | undefined
    poster.post(request, {
      onHead({ headers }) {
        responseHeaders = headers
      },
      onOutcome(of, durationMs, sent) {
        const { outcome, status, code } = recorded(of)
        ended = { url: request.url, outcome, status, durationMs, code, sent }
      },
      onEnd: (response) => ended && resolve({ ...ended, response, responseHeaders }),
    })
  })
}

/**
 * As sent, including the three that the HTTP client adds (a test compares them with what arrives). Masks configured
 * values.
 */
function requestHeaders(
  { url, headers, body }: Request,
  configured: Readonly<Record<string, string>>,
): Record<string, string> {
  const shown = Object.entries(headers).map(([name, value]) => [
    name,
    configured[name] === value ? MASK : value,
  ])
  return {
    Host: URL.parse(url)?.host ?? '',
    Connection: 'keep-alive',
    ...Object.fromEntries(shown),
    'Content-Length': String(Buffer.byteLength(body)),
  }
}

/** Joins the values of a repeated header. */
function shownHeaders(headers: ResponseHead['headers'], destination: Destination): Record<string, string> {
  const given = Object.entries(headers).filter(([, value]) => value !== undefined)
  return Object.fromEntries(
    given.map(([name, value]) => [name, withoutSecrets([value].flat().join(', '), destination) ?? '']),
  )
}

export type TestSends = {
  /** Resolves within the time limit of a POST. Never rejects. Undefined: too many tests are in progress. */
  begin(test: PostToAll): Promise<Result[]> | undefined
  /** Tests in progress end as `aborted`. */
  close(): Promise<void>
}

/** A test uses its own connections: a reused one could hide a problem. */
export function createTestSends(openPoster: () => Poster): TestSends {
  const open = new Set<Poster>()
  let closed = false

  async function send(test: PostToAll): Promise<Result[]> {
    const poster = openPoster()
    open.add(poster)
    try {
      return await postToAll(poster, test)
    } finally {
      open.delete(poster)
      await poster.close()
    }
  }

  return {
    begin: (test) => (closed || open.size >= MAX_AT_ONCE ? undefined : send(test)),
    async close() {
      closed = true
      await Promise.all([...open].map((poster) => poster.close()))
    },
  }
}
