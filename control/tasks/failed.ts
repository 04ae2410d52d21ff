/** A task that cannot succeed however often it is tried: it ends as `failed` with this code and message, which clients are shown. */
export class TaskFailed extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.name = 'TaskFailed'
    this.code = code
  }
}
