import { isObject, type Members, pointer } from '../../settings/faults.ts'
import { MASK, maskUrl } from '../../settings/mask.ts'
import type { Ask } from '../api/ask.ts'
import { CliFault } from '../world.ts'
import type { Declaration, Declared } from './declare.ts'
import { type Trials, type Tried, tryOut } from './dry-run.ts'
import { nameOf, type Ref } from './form.ts'
import { type PlacedFault, partsOf } from './place.ts'
import { type Plan, type PlanOptions, plan } from './plan.ts'
import { copyOf, readState, type State } from './state.ts'

export type Planned = Plan & {
  /** Secrets of the files, as fields, that are taken for those stored because the token may not have them compared. */
  hidden: readonly (Ref & { fields: string[] })[]
}

const TRIES = 3

/** Reads the settings that there are, has the API judge what it alone can, and plans. @throws CliFault */
export async function planNow(
  declaration: Declaration,
  ask: Ask,
  options: Omit<PlanOptions, 'trials'>,
): Promise<Planned | { faults: readonly PlacedFault[] }> {
  const { isDone = () => false } = options
  const records = declaration.records.filter((record) => !isDone(record))
  for (let tries = 1; tries <= TRIES; tries++) {
    const state = await readState(ask)
    const found = await tryOut(inQuestion(declaration, { records, state, options }), state, ask)
    if (found === 'stale') continue
    const trials = found === 'read_only' ? undefined : found
    const { revealed, hidden } = revealIn(state, records, trials)
    const planned = plan(declaration, revealed, { ...options, trials })
    return 'faults' in planned ? planned : { ...planned, hidden }
  }
  throw new CliFault('changed_meanwhile', 'Settings are being changed by somebody else: run it again.')
}

/**
 * The records of which the API is to be asked: those that would be written, or may be for their secrets. One that stays as it
 * is stands in the way of nothing, whatever the API would say of it today.
 */
function inQuestion(
  declaration: Declaration,
  { records, state, options }: { records: readonly Declared[]; state: State; options: PlanOptions },
): readonly Declared[] {
  const { revealed, hidden } = revealIn(state, records, undefined)
  const guess = plan(declaration, revealed, options)
  if ('faults' in guess) return records
  const names = new Set([...guess.steps, ...hidden].map(nameOf))
  return records.filter((record) => names.has(nameOf(record)))
}

/** The state with the secrets that are known. */
function revealIn(
  state: State,
  records: readonly Declared[],
  trials: Trials | undefined,
): { revealed: State; hidden: Planned['hidden'] } {
  const revealed = copyOf(state)
  const hidden: (Ref & { fields: string[] })[] = []
  for (const declared of records) {
    const { collection, id } = declared
    const tried = trials?.get(nameOf(declared))
    const same =
      collection === 'sources'
        ? revealOne(revealed.sources, declared, tried)
        : collection === 'destinations'
          ? revealOne(revealed.destinations, declared, tried)
          : []
    if (!tried && same.length > 0)
      hidden.push({ collection, id, fields: same.map((at) => partsOf(at).join('/')) })
  }
  return { revealed, hidden }
}

function revealOne<T extends { id: string }>(
  all: Map<string, T>,
  { id, body }: Declared,
  tried: Tried | undefined,
): string[] {
  const before = all.get(id)
  if (!before) return []
  const isSame = tried ? (at: string) => !tried.changed.has(at) : unseen(before, body)
  const { record, same } = reveal(before, body, isSame)
  all.set(id, record)
  return same
}

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
