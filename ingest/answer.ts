/** What goes back over HTTP; bodies are JSON, always. */
export type Answer = {
  code: Code | 'ok'
  status: number
  body: string
  headers?: Readonly<Record<string, string>>
}

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Without this header browsers hide the answer from the client library, which sends again. */
export const CORS = { 'access-control-allow-origin': '*' } as const

export const PREFLIGHT = {
  ...CORS,
  'access-control-allow-methods': 'GET, POST, OPTIONS',
  'access-control-allow-headers': 'authorization, content-type, content-encoding, x-retry-count',
  'access-control-max-age': '86400',
} as const

/** Status 200 and this body are what client libraries take for success, and nothing else. */
export const SUCCESS: Answer = { code: 'ok', status: 200, body: '{"success":true}' }

/** A rejected item of a batch, by its place in it. */
export type RejectedItem = { index: number; code: Code; message: string }

/** @param unlisted how many more are rejected. */
export function batchAnswer(rejected: readonly RejectedItem[], unlisted: number): Answer {
  if (rejected.length === 0) return SUCCESS
  const body = { success: true, rejected, ...(unlisted > 0 && { rejectedUnlisted: unlisted }) }
  return { ...SUCCESS, body: JSON.stringify(body) }
}

/** What is only to be sent again says when. */
export function errorAnswer(code: Code, headers: Answer['headers'] = again(code)): Answer {
  const answer = { code, status: statusOf(code), body: JSON.stringify(refusal(code)) }
  return headers ? { ...answer, headers } : answer
}

/** Kafka's short absences are over by then; what somebody has to mend takes longer. */
const AGAIN_S: Partial<Record<Code, number>> = { unavailable: 2, source_unreadable: 30, storage_full: 30 }

function again(code: Code): Answer['headers'] {
  const seconds = AGAIN_S[code]
  return seconds === undefined ? undefined : retryAfter(seconds)
}

/** When to send again, in whole seconds. Browsers show a page only the headers that are exposed to it. */
export function retryAfter(seconds: number): NonNullable<Answer['headers']> {
  return { 'retry-after': String(seconds), 'access-control-expose-headers': 'Retry-After' }
}

/** Every code that an answer or a rejection can carry: its status, and what it says to people. */
const table = {
  invalid_json: [400, 'The body is not JSON.'],
  invalid_encoding: [400, 'The body is not UTF-8, or not the gzip that its Content-Encoding says.'],
  call_not_object: [400, 'A call must be a JSON object.'],
  batch_not_array: [400, 'The body must be an object whose "batch" is an array of calls.'],
  empty_batch: [400, 'The batch holds no calls.'],
  too_deep: [400, 'The call is nested deeper than 64 levels.'],
  unknown_type: [400, 'The type must be one of identify, track, page, screen, group and alias.'],
  id_not_string: [
    400,
    'userId, anonymousId, groupId and previousId must be strings; whole numbers are taken up to 2^53 - 1.',
  ],
  no_user_or_anonymous_id: [400, 'userId or anonymousId is needed.'],
  user_id_required: [400, 'An alias call needs userId, the new id.'],
  previous_id_required: [400, 'An alias call needs previousId, the id to alias from.'],
  group_id_required: [400, 'A group call needs groupId.'],
  event_not_defined: [400, 'A track call needs event, the name of the action.'],
  event_not_string: [400, 'event must be a string.'],
  properties_not_object: [400, 'properties must be an object.'],
  traits_not_object: [400, 'traits must be an object.'],
  context_not_object: [400, 'context must be an object.'],
  integrations_not_object: [400, 'integrations must be an object.'],
  integrations_all_not_boolean: [400, 'integrations.All must be true or false.'],
  bad_request: [400, 'This is not a request that HTTP allows.'],
  unknown_source: [
    401,
    'No source has this write key. It is the user name of basic auth, or writeKey in the body or the query.',
  ],
  source_disabled: [403, 'The source is switched off.'],
  not_found: [
    404,
    'Calls go to POST /v1/{identify,track,page,screen,group,alias} and /v1/batch; GET /openapi.json describes it all.',
  ],
  method_not_allowed: [405, 'This path does not take this method; see the header Allow.'],
  request_timeout: [408, 'The request did not come in full in time: send it again.'],
  call_too_large: [413, 'A call may have at most 32 KB (32,768 bytes).'],
  batch_too_large: [
    413,
    'A batch may have at most 500 KB (512,000 bytes). The copies of its context and integrations, one for each call, may have at most 256 KB and 8 times the bytes of the batch.',
  ],
  inflates_too_much: [413, 'A body in gzip may inflate to at most 64 KB, or to 100 times its size.'],
  too_many_calls: [413, 'A batch may hold at most 2,500 calls.'],
  unsupported_encoding: [415, 'This Content-Encoding is not supported: gzip is, and none (identity).'],
  rate_limited: [
    429,
    'The source sends more calls than its rate limit allows: send again after Retry-After.',
  ],
  too_many_attempts: [
    429,
    'Too many bodies without the write key of a source have come from this address: send the write key as basic auth, or send again after Retry-After.',
  ],
  headers_too_large: [431, 'The URL and the headers may have at most 64 KB (65,536 bytes) together.'],
  internal_error: [500, 'Something went wrong here.'],
  unavailable: [503, 'The call could not be stored in time: send it again.'],
  source_unreadable: [
    503,
    'No source that can be read has this write key, and the settings of one cannot be read: send it again later.',
  ],
  storage_full: [503, 'The disk of Kafka is almost full, and no calls are taken: send it again later.'],
} as const satisfies Record<string, readonly [status: number, message: string]>

export type Code = keyof typeof table

/** Why a call, or a whole request, is not taken. */
export type Refusal = { code: Code; message: string }

export const CODES = Object.keys(table) as Code[] // its keys are the codes

export const statusOf = (code: Code): number => table[code][0]

export const refusal = (code: Code): Refusal => ({ code, message: table[code][1] })
