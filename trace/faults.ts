import { type DiagLogFunction, DiagLogLevel, diag } from '@opentelemetry/api'
import { setGlobalErrorHandler } from '@opentelemetry/core'
import type { Logger } from '../process/log.ts'

const REPEAT_MS = 10_000

/** What the SDK has to say goes to our log: each kind once in ten seconds, as an outage makes one after another of them. */
export function tellFaults(log: Pick<Logger, 'warn'>): void {
  const toldAt = new Map<string, number>()
  function isNews(said: string): boolean {
    const kind = said.replaceAll(/\d+/g, '')
    const now = performance.now()
    if (now - (toldAt.get(kind) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return false
    toldAt.set(kind, now)
    return true
  }

  setGlobalErrorHandler((error) => {
    const err = error instanceof Error ? error : new Error(String(error))
    if (isNews('export')) log.warn({ err }, 'spans cannot be exported: they are lost, nothing else is')
  })
  // what else there is, errors and contents of answers, is no text
  const warn: DiagLogFunction = (...said: unknown[]) => {
    const text = said.filter((part) => typeof part === 'string').join(': ')
    if (isNews(text)) log.warn(`OpenTelemetry: ${text}`)
  }
  const ignore: DiagLogFunction = () => undefined
  diag.setLogger(
    { error: warn, warn, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
}
