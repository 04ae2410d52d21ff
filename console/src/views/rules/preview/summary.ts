import type { PreviewItem } from '../../../api/rules.ts'
import { pluralize } from '../../../wording/format.ts'

type Outcome = PreviewItem['outcome']

const OTHERS: Record<Exclude<Outcome, 'sent'>, string> = {
  filtered: 'filtered',
  sampled_out: 'not in the sample',
  failed: 'failed',
}

export function summaryOf(items: readonly Pick<PreviewItem, 'outcome'>[]): string {
  if (items.length === 0) return 'The sources have no events yet.'
  const countOf = (outcome: Outcome) => items.filter((item) => item.outcome === outcome).length
  const others = (['filtered', 'sampled_out', 'failed'] as const)
    .map((outcome) => [countOf(outcome), OTHERS[outcome]] as const)
    .filter(([count]) => count > 0)
    .map(([count, words]) => `${count} ${words}`)
  const sent = `Sends ${countOf('sent')} of ${pluralize(items.length, 'event')}`
  return others.length === 0 ? `${sent}.` : `${sent}: ${others.join(', ')}.`
}

const ORDER: readonly Outcome[] = ['failed', 'sent', 'filtered', 'sampled_out']

/** Failed events first, then sent ones; otherwise keeps the order. */
export const sortedByOutcome = <Item extends Pick<PreviewItem, 'outcome'>>(items: readonly Item[]): Item[] =>
  items.toSorted((a, b) => ORDER.indexOf(a.outcome) - ORDER.indexOf(b.outcome))

/** Most frequent first. */
export function namesIn(items: readonly Pick<PreviewItem, 'event'>[]): string[] {
  const counts = new Map<string, number>()
  for (const { event } of items) if (event !== null) counts.set(event, (counts.get(event) ?? 0) + 1)
  return [...counts].toSorted(([, a], [, b]) => b - a).map(([name]) => name)
}

export const keyOf = ({ sourceId, messageId, receivedAt }: PreviewItem): string =>
  [sourceId, messageId, receivedAt].join(' ')
