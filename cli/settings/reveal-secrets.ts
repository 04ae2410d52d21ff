import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../process/json-objects.ts'
import { pointer } from '../../process/json-pointer.ts'
import type { Members } from '../../settings/faults.ts'
import { MASK, maskTexts, maskUrl } from '../../settings/mask.ts'
import { SHARED_SECRET, WRITE_KEY } from '../../settings/resources/secret-rotation.ts'
import { secretFields } from '../../settings/seal.ts'
import type { Declared } from './declare.ts'
import type { DryRunResult, DryRuns } from './dry-run.ts'
import { partsOf } from './location.ts'
import { nameOf, type Ref } from './schema.ts'
import { copyOf, type State } from './state.ts'

/** Fields whose secrets could not be compared. */
export type Hidden = Ref & { fields: string[] }

export function revealIn(
  state: State,
  records: readonly Declared[],
  dryRuns: DryRuns | undefined,
): { revealed: State; hidden: Hidden[] } {
  const revealed = copyOf(state)
  const hidden: Hidden[] = []
  for (const declared of records) {
    const { collection, id } = declared
    const tried = dryRuns?.get(nameOf(declared))
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
  tried: DryRunResult | undefined,
): string[] {
  const before = all.get(id)
  if (!before) return []
  const isSame = tried ? (at: string) => !tried.changed.has(at) : assumedSame({ ...before }, body)
  const { record, same } = reveal(before, body, isSame)
  all.set(id, record)
  return same
}

export type Revealed<T> = {
  record: T
  /** Pointers to secrets considered equal to the file's. */
  same: string[]
}

/**
 * Fills in each masked secret that equals the file's. Every other secret gets a unique text.
 * @param isSame whether the secret at a pointer equals the stored one
 */
export function reveal<T extends { id: string }>(
  before: T,
  declared: Members,
  isSame: (at: string) => boolean,
): Revealed<T> {
  const record: T & Members = structuredClone(before)
  const same: string[] = []

  function put({
    owner,
    given,
    path,
  }: {
    owner: Members
    given: Members
    path: readonly PropertyKey[]
  }): void {
    const name = String(path.at(-1))
    if (owner[name] !== MASK) return
    const at = pointer(path)
    const isKnown = typeof given[name] === 'string' && given[name] !== MASK && isSame(at)
    if (isKnown) same.push(at)
    // also a valid write key
    owner[name] = isKnown ? given[name] : `${MASK}${name}-${record.id}`
  }

  const given = webhooksOf(declared)
  for (const { owner, path, webhook } of secretFields(record)) {
    const headers = webhook === undefined ? declared : given[webhook]?.headers
    put({ owner, given: isObject(headers) ? headers : {}, path })
  }
  const rules = withShape(record.rules, declared.rules)
  if (rules) {
    Object.assign(record, { rules })
    same.push('/rules/shape')
  }
  webhooksOf(record).forEach((webhook, index) => {
    const { url } = given[index] ?? {}
    // a view token sees only a URL's host
    if (typeof url === 'string' && url !== webhook.url && maskUrl(url) === webhook.url) {
      webhook.url = url
      same.push(pointer(['webhooks', index, 'url']))
    }
  })
  return { record, same }
}

/**
 * A view token sees masked shapes. @returns the rules with the declared shape, if its masked form matches.
 */
function withShape(rules: unknown, declared: unknown): Members | undefined {
  if (!isObject(rules) || !isObject(declared)) return undefined
  const { shape } = declared
  const isMasked = !isDeepStrictEqual(rules.shape, shape) && isDeepStrictEqual(rules.shape, maskTexts(shape))
  return isMasked ? { ...rules, shape } : undefined
}

const webhooksOf = ({ webhooks }: Members): Members[] =>
  Array.isArray(webhooks) ? webhooks.map((webhook) => (isObject(webhook) ? webhook : {})) : []

/**
 * Without a comparison by the API, all secrets are assumed unchanged. The exception is a rotation that the file starts
 * by changing the expiry of the previous secret.
 */
export function assumedSame(before: Members, declared: Members): (at: string) => boolean {
  const rotated = [SHARED_SECRET, WRITE_KEY].flatMap(({ current, previous, expiry }) => {
    const starts = declared[expiry] !== undefined && declared[expiry] !== before[expiry]
    return starts ? [pointer([current]), pointer([previous])] : []
  })
  return (at) => !rotated.includes(at)
}
