import { HOUR_MS } from '../../parts/spans.ts'

/**
 * From when to when, in ISO 8601. @param which so many hours up to now, or `own`: what was typed, in the zone of who looks; nothing
 * as its end is now. @returns undefined: that is no time.
 */
export function spanOf(
  which: string,
  typed: { from: string; to: string },
  now: number,
): { from: string; to: string } | undefined {
  const hours = Number(which)
  if (which !== 'own') return { from: isoTime(now - hours * HOUR_MS), to: isoTime(now) }
  const [from, to] = [Date.parse(typed.from), typed.to === '' ? now : Date.parse(typed.to)]
  return from < to ? { from: isoTime(from), to: isoTime(to) } : undefined
}

const isoTime = (time: number) => new Date(time).toISOString()
