import { type Answer, problem } from './answer.ts'

/** @returns the version that an `If-Match` header asks for (`"3"` or `3`), undefined without one, or why it cannot be used. */
export function versionAsked(
  ifMatch: string | undefined,
): { version: number | undefined } | { refused: Answer } {
  if (ifMatch === undefined) return { version: undefined }
  const [, quoted, bare] = /^\s*(?:"(\d{1,15})"|(\d{1,15}))\s*$/.exec(ifMatch) ?? []
  const digits = quoted ?? bare
  if (digits !== undefined) return { version: Number(digits) }
  const message = 'If-Match takes one version, like "3" or 3: the version of the record that you have read'
  return { refused: problem(400, { code: 'invalid_if_match', message }) }
}

/** A replacement must say what it replaces, or it could undo what somebody else has just written. */
export const versionNeeded = problem(428, {
  code: 'precondition_required',
  message: 'Send If-Match with the version of the record that you have read, like If-Match: "3"',
})
