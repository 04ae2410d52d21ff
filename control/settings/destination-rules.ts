import type { Destination } from '../../schemas/settings.ts'
import type { Fault } from '../http/answer.ts'
import { pointer } from '../http/pointer.ts'
import type { Members } from './members.ts'
import { rotated, rotationFaults } from './rotation.ts'

type By = { old: Destination | undefined; now: string }

/** What new destinations must keep to and stored ones need not, so that none becomes unreadable by a rule made after it. `now`: ISO 8601 UTC. */
export const destinationFaults = (body: Members, { old, now }: By): Fault[] => [
  ...rotationFaults(body, { old, now }),
  ...secretFaults(body, old),
  ...repeated(body.retryOn),
  ...longHeaders(body.webhooks),
]

/** For all header values of one webhook together: every POST sends them, and every answer is searched for them. */
const MOST_HEADER_CHARACTERS = 8_192

const BASE64 = /^whsec_(?=.)([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/**
 * Standard Webhooks' libraries decode what stands behind `whsec_`, and could not verify with what is no base64. A secret that
 * has signed so before may stay, or become the previous one: it stands in the way of no other change.
 */
function secretFaults(body: Members, old: Destination | undefined): Fault[] {
  if (body.standardWebhooks !== true) return []
  const signing: Members = { ...body, ...rotated(body, old) }
  const before = old?.standardWebhooks ? [old.sharedSecret, old.previousSecret] : []
  return ['sharedSecret', 'previousSecret'].flatMap((name) => {
    const secret = signing[name]
    if (typeof secret !== 'string' || !secret.startsWith('whsec_') || BASE64.test(secret)) return []
    if (before.includes(secret)) return []
    const message =
      body[name] === undefined
        ? 'the present secret would be the previous one, and with standardWebhooks whsec_ is followed by base64, padded: turn standardWebhooks on when the rotation is over'
        : 'with standardWebhooks whsec_ is followed by base64, padded: correct it, or leave whsec_ away'
    return [{ pointer: pointer([name]), code: 'invalid_secret', message }]
  })
}

function longHeaders(webhooks: unknown): Fault[] {
  if (!Array.isArray(webhooks)) return []
  return webhooks.flatMap((webhook: { headers?: unknown } | null, index) => {
    const values = Object.values(webhook?.headers ?? {})
    const length = values.reduce<number>(
      (sum, value) => sum + (typeof value === 'string' ? value.length : 0),
      0,
    )
    if (length <= MOST_HEADER_CHARACTERS) return []
    const message = `its header values have ${length.toLocaleString('en-US')} characters in total: at most 8,192 are allowed`
    return [{ pointer: pointer(['webhooks', index, 'headers']), code: 'too_long', message }]
  })
}

function repeated(statuses: unknown): Fault[] {
  if (!Array.isArray(statuses)) return []
  return statuses.flatMap((status, index) => {
    if (statuses.indexOf(status) === index) return []
    const message = 'is there twice: leave one out'
    return [{ pointer: pointer(['retryOn', index]), code: 'duplicate_value', message }]
  })
}
