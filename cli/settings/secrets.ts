import { pointer } from '../../control/http/pointer.ts'
import { MASK, maskUrl } from '../../control/mask.ts'
import { isObject, type Members } from '../../control/settings/members.ts'

export type Revealed<T> = {
  record: T
  /** Pointers of the secrets that are taken for those of the file. */
  same: string[]
}

const OWN = ['writeKey', 'sharedSecret', 'previousSecret']

/**
 * A record that there is, which the API shows masked, with those secrets in clear of which the file is known to have the same.
 * Any other is a text that is no other's, so that two of them are not taken for one.
 * @param isSame of a pointer to a secret in the file.
 */
export function reveal<T extends { id: string }>(
  before: T,
  declared: Members,
  isSame: (at: string) => boolean,
): Revealed<T> {
  const record: T & Members = structuredClone(before)
  const same: string[] = []

  function put({ owner, given, path }: { owner: Members; given: Members; path: PropertyKey[] }): void {
    const name = String(path.at(-1))
    if (owner[name] !== MASK) return
    const at = pointer(path)
    const isKnown = typeof given[name] === 'string' && given[name] !== MASK && isSame(at)
    if (isKnown) same.push(at)
    // a write key in its form
    owner[name] = isKnown ? given[name] : `${MASK}${name}-${record.id}`
  }

  for (const name of OWN) put({ owner: record, given: declared, path: [name] })
  const given = webhooksOf(declared)
  webhooksOf(record).forEach((webhook, index) => {
    const { headers } = webhook
    const { headers: others, url } = given[index] ?? {}
    // the view token does not see what stands behind the host
    if (typeof url === 'string' && url !== webhook.url && maskUrl(url) === webhook.url) {
      webhook.url = url
      same.push(pointer(['webhooks', index, 'url']))
    }
    if (!isObject(headers)) return
    for (const name of Object.keys(headers))
      put({
        owner: headers,
        given: isObject(others) ? others : {},
        path: ['webhooks', index, 'headers', name],
      })
  })
  return { record, same }
}

const webhooksOf = ({ webhooks }: Members): Members[] =>
  Array.isArray(webhooks) ? webhooks.map((webhook) => (isObject(webhook) ? webhook : {})) : []

/**
 * What may be taken for the same by who may not ask the API: all secrets, unless the file begins a rotation (its
 * `previousSecretExpiresAt` is another).
 */
export function unseen(before: object, declared: Members): (at: string) => boolean {
  const expiry = declared.previousSecretExpiresAt
  const old = 'previousSecretExpiresAt' in before ? before.previousSecretExpiresAt : undefined
  const rotates = expiry !== undefined && expiry !== old
  return (at) => !(rotates && (at === '/sharedSecret' || at === '/previousSecret'))
}
