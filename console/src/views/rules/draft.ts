import type { Fault } from '../../api/client/errors.ts'
import { type FilterDraft, missingIn, NO_FILTER, toFilter, toFilterDraft } from './filter.ts'

export const REDACTIONS = ['drop', 'hash', 'mask', 'truncate'] as const
export type Redaction = (typeof REDACTIONS)[number]
export type RedactionDraft = { key: number; path: string; as: Redaction }

export const MAX_REDACTIONS = 100

const SAMPLED_BY = ['user', 'event'] as const
export type SampleDraft = { percent: string; by: (typeof SAMPLED_BY)[number] }

/**
 * `otherFilter`: too complex for the form. `sample`: undefined sends everything. `body`: JSON with placeholders;
 * undefined sends the event.
 */
export type RulesDraft = {
  filter: FilterDraft
  otherFilter: unknown
  sample: SampleDraft | undefined
  redact: readonly RedactionDraft[]
  body: string | undefined
}

let lastKey = 0
export const newRedaction = (): RedactionDraft => ({ key: ++lastKey, path: '', as: 'drop' })

/** @returns undefined if the form cannot show the rules. */
export function toDraft(rules: unknown = {}): RulesDraft | undefined {
  if (typeof rules !== 'object' || rules === null || Array.isArray(rules)) return undefined
  const members: Record<string, unknown> = { ...rules }
  const { filter, sample, redact, shape, ...others } = members
  const sampleDraft = toSampleDraft(sample)
  const redactions = toRedactionDrafts(redact)
  if (Object.keys(others).length > 0 || (sample !== undefined && !sampleDraft) || !redactions)
    return undefined
  const shown = toFilterDraft(filter)
  return {
    filter: shown ?? NO_FILTER,
    otherFilter: shown ? undefined : filter,
    sample: sampleDraft,
    redact: redactions,
    body: shape === undefined ? undefined : JSON.stringify(shape, null, 2),
  }
}

function toSampleDraft(sample: unknown): SampleDraft | undefined {
  const { rate, by = 'user', ...others }: Record<string, unknown> = { ...(sample ?? {}) }
  const sampledBy = SAMPLED_BY.find((one) => one === by)
  if (typeof rate !== 'number' || !sampledBy || Object.keys(others).length > 0) return undefined
  const percent = String(shifted(rate, 2))
  return toRate(percent) === rate ? { percent, by: sampledBy } : undefined
}

/** Moves the decimal point: 0.07 * 100 is 7.000000000000001. */
function shifted(value: number, digits: number): number {
  const [mantissa, exponent = '0'] = String(value).split('e')
  return Number(`${mantissa}e${Number(exponent) + digits}`)
}

const toRate = (percent: string): number => shifted(Number(percent.trim() || Number.NaN), -2)

function toRedactionDrafts(redact: unknown): RedactionDraft[] | undefined {
  if (redact === undefined) return []
  if (!Array.isArray(redact)) return undefined
  const drafts = redact.flatMap((each: unknown): RedactionDraft[] => {
    const { path, as, ...others }: Record<string, unknown> = { ...(each ?? {}) }
    const method = REDACTIONS.find((one) => one === as)
    if (typeof path !== 'string' || !method || Object.keys(others).length > 0) return []
    return [{ key: ++lastKey, path, as: method }]
  })
  return drafts.length === redact.length ? drafts : undefined
}

/** Undefined without rules. Drops rows without a path. */
export function toRules(draft: RulesDraft): Record<string, unknown> | undefined {
  const filter = draft.otherFilter ?? toFilter(draft.filter).filter
  const redact = draft.redact.flatMap(({ path, as }) => (path.trim() === '' ? [] : { path: path.trim(), as }))
  const { sample, body } = draft
  const rules = {
    ...(filter !== undefined && { filter }),
    ...(sample && { sample: { rate: toRate(sample.percent), by: sample.by } }),
    ...(redact.length > 0 && { redact }),
    ...(body !== undefined && { shape: parsed(body) }),
  }
  return Object.keys(rules).length > 0 ? rules : undefined
}

/** Undefined if not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A row's JSON pointer in the destination, to find its faults; made up for a row without a path. */
export function conditionPointer({ filter }: RulesDraft, origin: number | 'eventNames' | 'types'): string {
  const at = toFilter(filter).pointers.get(origin)
  return at === undefined ? `/rules/new/${origin}` : `/rules/filter${at}`
}

export function redactionPointer({ redact }: RulesDraft, key: number): string {
  const at = redact.filter(({ path }) => path.trim() !== '').findIndex((each) => each.key === key)
  return at === -1 ? `/rules/new/redaction${key}` : `/rules/redact/${at}`
}

/** Of all fields that show faults. */
export const fieldPointers = (draft: RulesDraft): string[] => [
  ...(draft.otherFilter === undefined
    ? (['eventNames', 'types', ...draft.filter.conditions.map(({ key }) => key)] as const)
    : []
  ).map((origin) => conditionPointer(draft, origin)),
  ...draft.redact.map(({ key }) => redactionPointer(draft, key)),
  ...(draft.sample ? ['/rules/sample'] : []),
  ...(draft.body === undefined ? [] : ['/rules/shape']),
]

/** Faults that the API cannot find, because `toRules` drops incomplete rows and unparsable text. */
export const draftFaults = (draft: RulesDraft): Fault[] => [
  ...(draft.otherFilter === undefined ? draft.filter.conditions : []).flatMap((condition): Fault[] => {
    const missing = missingIn(condition)
    const pointer = `${conditionPointer(draft, condition.key)}/${missing}`
    return missing ? [{ pointer, code: 'required', message: MISSING[missing] }] : []
  }),
  ...draft.redact
    .filter(({ path }) => path.trim() === '')
    .map(({ key }): Fault => {
      const pointer = `${redactionPointer(draft, key)}/path`
      return { pointer, code: 'required', message: MISSING.path }
    }),
  ...textFaults(draft),
]

const MISSING = {
  path: 'Enter a path, such as properties.total, or remove the row.',
  value: 'Enter a value. For an empty string, write "".',
}

/** Faults of unparsable text, which prevent a preview. */
export function textFaults({ sample, body }: RulesDraft): Fault[] {
  const isRate = sample === undefined || Number.isFinite(toRate(sample.percent))
  const isJson = body === undefined || parsed(body) !== undefined
  return [
    ...(isRate ? [] : [{ pointer: '/rules/sample/rate', code: 'invalid_type', message: NO_NUMBER } as const]),
    ...(isJson ? [] : [{ pointer: '/rules/shape', code: 'invalid_format', message: NO_JSON } as const]),
  ]
}

const NO_NUMBER = 'Enter a number, such as 10.'
const NO_JSON = 'This is not JSON yet. Put strings in double quotes, even if they are only a placeholder.'
