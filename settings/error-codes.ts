/** Codes of control's API; ingest has its own (ingest/answer.ts). Clients rely on them: add new ones, change none. */
const table = {
  bad_request: [400, 'The request is not valid HTTP.'],
  invalid_path: [400, 'The path is not percent-encoded UTF-8.'],
  invalid_json: [400, 'The body is not JSON.'],
  invalid_encoding: [400, 'The body is not UTF-8, or not the gzip that `Content-Encoding` announces.'],
  name_too_long: [400, 'A property name has more than 10,000 characters, as spelled in the JSON.'],
  too_deep: [400, 'The body is nested deeper than 32 levels.'],
  invalid_line: [400, 'A line of the upload cannot be read. Nothing has changed.'],
  inexact_number: [400, 'A line of the upload has a number that a double cannot hold. Nothing has changed.'],
  line_too_long: [400, 'A line of the upload is too long. Nothing has changed.'],
  csv_as_text: [
    400,
    'The upload is `text/plain`, but its first line names columns, as in CSV. Nothing has changed.',
  ],
  empty_upload: [400, 'The upload lists no users, and `allowEmpty` is not set.'],
  many_removals: [
    409,
    'The upload would remove more than a tenth of the members or values: `allowRemovals` allows it. Nothing has changed.',
  ],
  backup_invalid: [400, 'The file is not a complete backup, or a later version made it.'],
  backup_altered: [400, 'The backup was altered after it was made.'],
  upload_broken: [400, 'The upload broke off. Nothing has changed.'],
  invalid_if_match: [400, '`If-Match` is not a version.'],
  validation_failed: [400, 'The body or the query is invalid: `errors` lists everything that is wrong.'],
  unauthorized: [401, 'The request has no token or session, or an invalid one.'],
  read_only: [403, 'The view token may only read.'],
  csrf: [403, 'Changes with a session cookie need the header `X-Requested-With`.'],
  not_found: [404, 'It does not exist.'],
  method_not_allowed: [405, 'The path does not support this method: see `Allow`.'],
  request_timeout: [408, 'The request did not arrive completely in time.'],
  id_taken: [
    409,
    'The id is taken. If you are retrying, your first request succeeded; otherwise choose another id.',
  ],
  write_key_taken: [409, 'Another source has this write key.'],
  key_taken: [409, 'Another audience or trait of the source already has the key made from this name.'],
  already_suppressed: [409, 'The user is already suppressed.'],
  source_in_use: [409, 'The source is in use: `errors` says by what.'],
  replay_ended: [409, 'The replay is already done or cancelled.'],
  sync_ended: [409, 'The sync has already ended, or is cleaning up after a removal.'],
  partitions_changed: [
    409,
    'A topic of audiences or traits has got more partitions, so an upload cannot be compared: docs/guides/partitions.md.',
  ],
  sync_running: [409, 'A sync of this audience or trait is in progress.'],
  backup_other_key: [409, 'The backup was made under a `CONFIG_KEY` that control does not have.'],
  restore_conflict: [
    409,
    'The system has settings that differ from the backup or are not in it: `force` restores all the same.',
  ],
  setting_unreadable: [
    409,
    'The record of the setting cannot be read: create it again under its id, or remove it.',
  ],
  version_mismatch: [412, 'The record is not at the version in `If-Match`: `ETag` has the current one.'],
  body_too_large: [
    413,
    'The body is larger than the path allows (1 MB; 4 KB to sign in; 256 MB to restore a backup), or the resulting record is larger than Kafka allows.',
  ],
  unsupported_media_type: [415, 'The path does not accept this content type.'],
  unsupported_encoding: [415, 'Only gzip, or no `Content-Encoding`, is supported.'],
  precondition_required: [428, '`If-Match` is required.'],
  too_many_attempts: [
    429,
    'The token is wrong, and the network has sent too many wrong ones; or the network signs in too often. Wait for `Retry-After`.',
  ],
  too_many_tests: [429, 'Too many tests are in progress.'],
  too_many_searches: [
    429,
    'Too many searches are in progress, or the network asks about users too often. Wait for `Retry-After`.',
  ],
  too_many_watchers: [429, 'Too many clients are watching.'],
  headers_too_large: [431, 'The URL and the headers are too large.'],
  internal: [500, "Internal error: see Sluice's log."],
  storage_full: [503, 'Kafka is short of space, so uploads are refused.'],
  unavailable: [503, 'Kafka does not answer in time, or the process is starting or shutting down.'],
} as const satisfies Record<string, readonly [status: number, meaning: string]>

export type Code = keyof typeof table

export const CODES = Object.keys(table) as Code[] // its keys are the codes

export const statusOf = (code: Code): number => table[code][0]

export const meaningOf = (code: Code): string => table[code][1]

export const isCode = <T extends string>(text: T): text is T & Code => Object.hasOwn(table, text)

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
  'invalid_path',
  'invalid_pattern',
  'invalid_placeholder',
  'too_deep',
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
  'notices_only',
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
