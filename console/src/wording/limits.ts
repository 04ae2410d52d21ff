import { exactDuration } from './format.ts'

/** The operator's settings, which control writes into the page. `...KeptMs`: null if forever or unknown. */
export type Limits = {
  responseTimeoutMs: number
  retryWindowMs: number
  retryDelays: readonly string[]
  eventsKeptMs: number | null
  deadKeptMs: number | null
}

type LimitTexts = Record<
  'timeout' | 'retryWindow' | 'retryFor' | 'delays' | 'olderEvents' | 'deadKept',
  string
>

/** Parts of sentences. In development the limits are unknown, and the texts name no figures. */
export function limitTexts(limits: Limits | undefined): LimitTexts {
  if (!limits)
    return {
      timeout: 'the timeout',
      retryWindow: 'the retry window',
      retryFor: '',
      delays: '',
      olderEvents: 'or that Kafka no longer keeps',
      deadKept: '',
    }
  const { responseTimeoutMs, retryWindowMs, retryDelays, eventsKeptMs, deadKeptMs } = limits
  const period = exactDuration(retryWindowMs)
  return {
    timeout: exactDuration(responseTimeoutMs),
    retryWindow: `the retry window of ${period}`,
    retryFor: ` for up to ${period}`,
    delays: ` Its delays: ${retryDelays.join(', ')}.`,
    olderEvents:
      eventsKeptMs === null
        ? 'or that Kafka no longer keeps'
        : `or that are older than ${exactDuration(eventsKeptMs)}`,
    deadKept: deadKeptMs === null ? '' : ` for ${exactDuration(deadKeptMs)}`,
  }
}

type Page = { querySelector(selector: string): { getAttribute(name: string): string | null } | null }

/** @param page undefined in tests. */
export function limitsOf(page: Page | undefined): Limits | undefined {
  const text = page?.querySelector('meta[name="sluice-limits"]')?.getAttribute('content')
  // in development, a placeholder
  return text?.startsWith('{') ? (JSON.parse(text) as Limits) : undefined
}

/** A new page brings new limits. */
export const LIMITS: LimitTexts = limitTexts(limitsOf((globalThis as { document?: Page }).document))
