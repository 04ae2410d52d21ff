/** Programs may rely on the code. The message is for people and may change. */
export class CodedError<Code extends string = string> extends Error {
  readonly code: Code

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
