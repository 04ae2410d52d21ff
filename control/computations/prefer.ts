import { z } from 'zod'
import type { Asked } from '../http/operation.ts'

const WAIT_MS = 5_000

/** What a client may say of how long it waits (RFC 7240). */
export const preferHeader = {
  prefer: {
    schema: z.string(),
    required: false,
    description:
      '`respond-async`: an answer is to come within 5 s of the upload, or within `wait` seconds (`respond-async, wait=20`), done or not.',
  },
}

/** @returns for how long a client waits for what comes of an upload, in ms. Preferences that are not known are none. */
export function patienceOf({ headers }: Pick<Asked, 'headers'>): number {
  const prefer = String(headers.prefer ?? '')
  if (!/(^|,)\s*respond-async\s*(;|,|$)/i.test(prefer)) return Number.POSITIVE_INFINITY
  const seconds = /(?:^|,)\s*wait\s*=\s*"?(\d{1,5})"?\s*(?:;|,|$)/i.exec(prefer)?.[1]
  return seconds === undefined ? WAIT_MS : Number(seconds) * 1_000
}
