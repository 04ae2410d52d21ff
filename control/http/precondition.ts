import { z } from 'zod'
import { type Answer, problem } from './answer.ts'

const versionShape = z
  .string()
  .regex(/^\s*(?:"\d{1,15}"|\d{1,15})\s*$/)
  .transform((text) => Number(text.replaceAll('"', '')))

/** @returns the version that an `If-Match` header asks for (`"3"` or `3`), undefined without one, or why it cannot be used. */
export function versionAsked(
  ifMatch: string | undefined,
): { version: number | undefined } | { refused: Answer } {
  if (ifMatch === undefined) return { version: undefined }
  const { success, data: version } = versionShape.safeParse(ifMatch)
  if (success) return { version }
  const message = 'If-Match takes one version, like "3" or 3: the version of the record that you have read'
  return { refused: problem({ code: 'invalid_if_match', message }) }
}

/** A replacement must say what it replaces, or it could undo what somebody else has just written. */
export const versionNeeded = problem({
  code: 'precondition_required',
  message: 'Send If-Match with the version of the record that you have read, like If-Match: "3"',
})

/** As operations declare it. */
export const ifMatch = (required: boolean) => ({
  'if-match': {
    schema: versionShape,
    required,
    description: 'The `version` of the record that you have read, as `"3"` or `3`.',
  },
})
