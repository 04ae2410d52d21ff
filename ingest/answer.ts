export type Answer = {
  code: Code | 'ok'
  status: number
  body: string
  headers?: Readonly<Record<string, string>>
}

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Otherwise browsers hide the answer from the client library, which then retries. */
export const CORS = { 'access-control-allow-origin': '*' } as const

export const PREFLIGHT = {
  ...CORS,
  'access-control-allow-methods': 'GET, POST, OPTIONS',
  'access-control-allow-headers': 'authorization, content-type, content-encoding, x-retry-count',
  'access-control-max-age': '86400',
} as const

/** Client libraries accept only status 200 with this body as success. */
export const SUCCESS: Answer = { code: 'ok', status: 200, body: '{"success":true}' }

/**
 * What the answer to a batch says about rejected calls. `codes` are by index, undefined for calls that are not listed.
 * Kept while Kafka writes the batch: the text of the answer takes ten times the memory.
 */
export type Listed = { codes: readonly (Code | undefined)[]; unlisted: number }

export function batchAnswer({ codes, unlisted }: Listed): Answer {
  const rejected = codes.flatMap((code, index) => (code === undefined ? [] : { index, ...refusal(code) }))
  if (rejected.length === 0) return SUCCESS
  const body = { success: true, rejected, ...(unlisted > 0 && { rejectedUnlisted: unlisted }) }
  return { ...SUCCESS, body: JSON.stringify(body) }
}

export function errorAnswer(code: Code, headers: Answer['headers'] = retryHeaders(code)): Answer {
  const answer = { code, status: statusOf(code), body: JSON.stringify(refusal(code)) }
  return headers ? { ...answer, headers } : answer
}

/** Short outages of Kafka end within 2 s. Problems for an operator take longer. */
const RETRY_S: Partial<Record<Code, number>> = { unavailable: 2, source_unreadable: 30, storage_full: 30 }

function retryHeaders(code: Code): Answer['headers'] {
  const seconds = RETRY_S[code]
  return seconds === undefined ? undefined : retryAfter(seconds)
}

/** When to retry, in whole seconds. Browsers show pages only exposed headers. */
export function retryAfter(seconds: number): NonNullable<Answer['headers']> {
  return { 'retry-after': String(seconds), 'access-control-expose-headers': 'Retry-After' }
}

const table = {
  invalid_json: [400, 'The body is not JSON.'],
  invalid_encoding: [400, 'The body is not UTF-8, or not gzip although its Content-Encoding says so.'],
  name_too_long: [400, 'A property name has more than 10,000 characters, as spelled in the JSON.'],
  call_not_object: [400, 'A call must be a JSON object.'],
  batch_not_array: [400, 'The body must be an object whose "batch" is an array of calls.'],
  empty_batch: [400, 'The batch contains no calls.'],
  too_deep: [400, 'The call has more than 64 levels of nesting.'],
  unknown_type: [400, 'The type must be identify, track, page, screen, group or alias.'],
  id_not_string: [
    400,
    'userId, anonymousId, groupId and previousId must be strings, or whole numbers up to 2^53 - 1.',
  ],
  no_user_or_anonymous_id: [400, 'A call needs userId or anonymousId.'],
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
  bad_request: [
    400,
    'This is not valid HTTP, or a proxy may read it differently. Send exactly one Host header, at most one ' +
      'Authorization header, and no Transfer-Encoding other than chunked.',
  ],
  unknown_source: [
    401,
    'No source has this write key. Send it as the user name of basic auth, or as writeKey in the body or the query.',
  ],
  source_disabled: [403, 'The source is disabled.'],
  notices_only: [
    403,
    'The source is of kind notices, so only Sluice sends its calls: use the write key of another source.',
  ],
  not_found: [
    404,
    'Send calls to POST /v1/{identify,track,page,screen,group,alias} or /v1/batch. GET /openapi.json describes the API.',
  ],
  method_not_allowed: [405, 'This path does not allow this method: see the header Allow.'],
  request_timeout: [408, 'The request was not complete in time: send it again.'],
  call_too_large: [413, 'A call may have at most 32 KB (32,768 bytes).'],
  batch_too_large: [
    413,
    'A batch may have at most 500 KB (512,000 bytes). Its own context and integrations may take 32 KB of that, and each event gets a copy of them. All events together may take 256 KB plus 8 times the size of the batch; if the batch was sent as gzip, 256 KB plus 160 times the compressed size, if that is less.',
  ],
  inflates_too_much: [413, 'A gzip body may inflate to at most 64 KB, or to 100 times its size.'],
  too_many_chunks: [413, 'A body may arrive in at most 10,000 chunks: write larger ones.'],
  too_many_calls: [413, 'A batch may contain at most 2,500 calls.'],
  unsupported_encoding: [415, 'This Content-Encoding is not supported: use gzip or none (identity).'],
  rate_limited: [429, 'The source exceeds its rate limit: send again after Retry-After.'],
  too_many_attempts: [
    429,
    'This address has sent too many bodies without a valid write key: send the write key as basic auth, or send again after Retry-After.',
  ],
  headers_too_large: [431, 'The URL and the headers may have at most 64 KB (65,536 bytes) together.'],
  internal_error: [500, 'Sluice failed to handle the request.'],
  unavailable: [503, 'The call could not be stored in time: send it again.'],
  source_unreadable: [
    503,
    'The settings of a source cannot be read, and it may have this write key: send again later.',
  ],
  storage_full: [503, 'Storage is almost full, so no calls are accepted: send again later.'],
} as const satisfies Record<string, readonly [status: number, message: string]>

export type Code = keyof typeof table

export type Refusal = { code: Code; message: string }

export const CODES = Object.keys(table) as Code[]

export const statusOf = (code: Code): number => table[code][0]

export const refusal = (code: Code): Refusal => ({ code, message: table[code][1] })
