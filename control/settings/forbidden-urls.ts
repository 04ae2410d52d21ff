import { MAX_WEBHOOKS } from '../../schemas/settings.ts'
import type { Fault } from '../http/answer.ts'
import { pointer } from '../http/pointer.ts'
import { isObject, type Members } from './members.ts'
import type { Unreachable } from './noun.ts'

/** The URLs of a destination's webhooks to look up beforehand, as they are; those past the limit are faulty for that already. */
export const urlsOf = (body: unknown): string[] =>
  inPlaces(body)
    .filter((url) => typeof url === 'string')
    .slice(0, MAX_WEBHOOKS)

/** Also for the unchanged URLs of a replacement: what they lead to may have changed. */
export function forbiddenUrls(body: Members, unreachable: Unreachable): Fault[] {
  return inPlaces(body).flatMap((url, index) => {
    const message = typeof url === 'string' && unreachable.get(url)
    return message
      ? [{ pointer: pointer(['webhooks', index, 'url']), code: 'address_forbidden', message }]
      : []
  })
}

/** What stands where a URL belongs, of each webhook. */
function inPlaces(body: unknown): unknown[] {
  if (!isObject(body) || !Array.isArray(body.webhooks)) return []
  return body.webhooks.map((webhook: unknown) => (isObject(webhook) ? webhook.url : undefined))
}
