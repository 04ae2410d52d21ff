export type CliFaultCode =
  | 'no_address'
  | 'no_token'
  | 'usage'
  | 'cannot_read'
  | 'cannot_write'
  | 'faulty_files'
  | 'unreachable'
  | 'refused'
  | 'unknown_answer'
  | 'changed_meanwhile'

/** What whoever runs the command can put right: told on stderr without a stack, and the exit code is 1. */
export class CliFault extends Error {
  override name = 'CliFault'
  readonly code: CliFaultCode

  constructor(code: CliFaultCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
