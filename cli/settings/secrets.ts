import { keepMasked } from '../../control/keep.ts'
import { MASK } from '../../control/mask.ts'
import { isObject, type Members } from '../../control/members.ts'
import { pointer } from '../../control/pointer.ts'

export type Sent = {
  /** What is sent to the API. */
  body: Members
  /** Pointers of the secrets that the file has and that are not sent: nobody can tell whether they are others than those stored. */
  kept: string[]
}

/**
 * The API shows no secret, so nothing tells whether the file's is another. The stored one is kept, therefore, unless there is
 * none, the file begins a rotation (its `previousSecretExpiresAt` is another), or all are to be written.
 * @param before the record that there is, as the API shows it.
 */
export function sentFor(declared: Members, before: object | undefined, writeAll: boolean): Sent {
  const body = structuredClone(declared)
  if (!before || !isObject(before)) return { body, kept: [] }
  const secrets = writeAll ? [] : [...ownSecrets(body, before), ...headers(body)]
  const hidden = secrets.filter(({ given }) => given !== MASK)
  for (const { owner, name } of hidden) owner[name] = MASK
  const nothingToKeep = new Set(keepMasked(body, before).faults.map((fault) => fault.pointer))
  for (const { at, owner, name, given } of hidden) if (nothingToKeep.has(at)) owner[name] = given
  // the same to the API; and who may only read is shown a mask as the stored key, which is none
  if (body.writeKey === MASK) delete body.writeKey
  return { body, kept: hidden.map(({ at }) => at).filter((at) => !nothingToKeep.has(at)) }
}

/** `at`: its JSON pointer. */
type Secret = { at: string; owner: Members; name: string; given: string }

/** Those of the record itself that the API hides. It shows write keys to admins. */
function ownSecrets(body: Members, before: Members): Secret[] {
  const expiry = body.previousSecretExpiresAt
  const rotates = expiry !== undefined && expiry !== before.previousSecretExpiresAt
  const names = rotates ? ['writeKey'] : ['writeKey', 'sharedSecret', 'previousSecret']
  return textsOf(body, []).filter(
    ({ name }) => names.includes(name) && (before[name] === undefined || before[name] === MASK),
  )
}

function headers({ webhooks }: Members): Secret[] {
  if (!Array.isArray(webhooks)) return []
  return webhooks.flatMap((webhook: unknown, index) =>
    isObject(webhook) && isObject(webhook.headers)
      ? textsOf(webhook.headers, ['webhooks', index, 'headers'])
      : [],
  )
}

const textsOf = (owner: Members, path: readonly PropertyKey[]): Secret[] =>
  Object.entries(owner).flatMap(([name, given]) =>
    typeof given === 'string' ? [{ at: pointer([...path, name]), owner, name, given }] : [],
  )
