import type { Destination } from '../schemas/settings.ts'
import type { Fault } from './answer.ts'
import type { Members } from './members.ts'
import { pointer } from './pointer.ts'
import { rotationFaults } from './rotation.ts'

/** What new destinations must keep to and stored ones need not, so that none becomes unreadable by a rule made after it. */
export const destinationFaults = (body: Members, old: Destination | undefined): Fault[] => [
  ...rotationFaults(body, old),
  ...secretFaults(body),
  ...repeated(body.retryOn),
]

const BASE64 = /^whsec_(?=.)([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Standard Webhooks' libraries decode what stands behind `whsec_`, and could not verify with what is no base64. */
function secretFaults(body: Members): Fault[] {
  if (body.standardWebhooks !== true) return []
  const wrong = ['sharedSecret', 'previousSecret'].filter((name) => {
    const secret = body[name]
    return typeof secret === 'string' && secret.startsWith('whsec_') && !BASE64.test(secret)
  })
  const message =
    'with standardWebhooks whsec_ is followed by base64, padded: correct it, or leave whsec_ away'
  return wrong.map((name) => ({ pointer: pointer([name]), code: 'invalid_secret', message }))
}

function repeated(statuses: unknown): Fault[] {
  if (!Array.isArray(statuses)) return []
  return statuses.flatMap((status, index) => {
    if (statuses.indexOf(status) === index) return []
    const message = 'is there twice: leave one out'
    return [{ pointer: pointer(['retryOn', index]), code: 'duplicate_value', message }]
  })
}
