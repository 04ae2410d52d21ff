/** Every code that an answer can have: its status, and what it says. Clients go by them: one is added, and never changed. */
const table = {
  bad_request: [400, 'Not a request that HTTP allows.'],
  invalid_path: [400, 'The path is not percent-encoded UTF-8.'],
  invalid_json: [400, 'The body is not JSON.'],
  invalid_encoding: [400, 'The body is not UTF-8, or not the gzip that its Content-Encoding says.'],
  too_deep: [400, 'The body is nested deeper than 32 levels.'],
  invalid_line: [400, 'A line of the upload cannot be read. Nothing has been changed.'],
  inexact_number: [400, 'A line of the upload has a number that no double is. Nothing has been changed.'],
  line_too_long: [400, 'A line of the upload has too many characters. Nothing has been changed.'],
  empty_upload: [400, 'The upload names nobody, and `allowEmpty` was not given.'],
  upload_broken: [400, 'The upload broke off. Nothing has been changed.'],
  invalid_if_match: [400, '`If-Match` is no version.'],
  validation_failed: [400, 'Something is wrong with the body or the query: `errors` says what, all of it.'],
  unauthorized: [401, 'No token and no session, or none that is known.'],
  read_only: [403, 'Who has the view token may only read.'],
  csrf: [403, 'A change by cookie needs the header `X-Requested-With`.'],
  not_found: [404, 'There is no such thing.'],
  method_not_allowed: [405, 'The path does not take this method: `Allow` says which it takes.'],
  request_timeout: [408, 'The request did not come in full in time.'],
  id_taken: [409, 'The id is taken: choose another, or it is this very thing that was made before.'],
  write_key_taken: [409, 'Another source has the write key.'],
  key_taken: [409, 'Another audience or trait of the source has the key that the name makes.'],
  already_suppressed: [409, 'The user is suppressed already.'],
  source_in_use: [409, 'Others are connected to the source: `errors` names them.'],
  replay_ended: [409, 'The replay is done or cancelled already.'],
  sync_ended: [409, 'The sync is over already, or forgets what was removed.'],
  sync_running: [409, 'A sync of the same audience or trait is under way.'],
  setting_unreadable: [
    409,
    'Nobody can read the record of the setting: create it anew under its id, or remove it.',
  ],
  version_mismatch: [412, 'It is at another version than `If-Match` says: `ETag` has it.'],
  body_too_large: [
    413,
    'The body is larger than the path takes (1 MB, or 4 KB to sign in), or what it makes than Kafka does.',
  ],
  unsupported_media_type: [415, 'The body is of a type that the path does not take.'],
  unsupported_encoding: [415, 'The `Content-Encoding` is neither gzip nor none.'],
  precondition_required: [428, '`If-Match` is needed.'],
  too_many_attempts: [
    429,
    'The token is wrong, as too many from the same address were before: wait for `Retry-After`.',
  ],
  too_many_tests: [429, 'As many tests as may be are under way.'],
  too_many_searches: [429, 'As many searches as may be are under way.'],
  too_many_watchers: [429, 'As many as may watch do already.'],
  headers_too_large: [431, 'The URL and the headers are too large.'],
  internal: [500, 'A fault of Sluice: its log says more.'],
  storage_full: [503, 'Kafka has too little room, and no uploads are taken.'],
  unavailable: [503, 'Kafka does not answer in time, or the process is starting or ending.'],
} as const satisfies Record<string, readonly [status: number, meaning: string]>

export type Code = keyof typeof table

export const CODES = Object.keys(table) as Code[] // its keys are the codes

export const statusOf = (code: Code): number => table[code][0]

export const meaningOf = (code: Code): string => table[code][1]

export const isCode = <T extends string>(text: T): text is T & Code => Object.hasOwn(table, text)

/** What can be wrong with one place of a request. */
export const FAULT_CODES = [
  'required',
  'unknown_field',
  'invalid_type',
  'invalid_value',
  'invalid_format',
  'invalid_url',
  'invalid_header_name',
  'invalid_header_value',
  'invalid_secret',
  'reserved_header',
  'duplicate_header',
  'duplicate_value',
  'in_both',
  'too_small',
  'too_big',
  'too_short',
  'too_long',
  'too_few',
  'too_many',
  'too_large',
  'address_forbidden',
  'unknown_source',
  'unknown_destination',
  'unknown_delivery',
  'destination_disabled',
  'nothing_to_keep',
  'outdated_secret',
  'already_past',
  'no_key',
  'id_fixed',
  'source_fixed',
  'id_taken',
  'write_key_taken',
  'key_taken',
  'already_suppressed',
  'source_in_use',
  'sync_running',
  'sync_ended',
  'replay_ended',
] as const

export type FaultCode = (typeof FAULT_CODES)[number]
