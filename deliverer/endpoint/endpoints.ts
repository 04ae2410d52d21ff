import { type Breaker, HEALTHY } from './breaker.ts'

/** An origin that webhooks are at, as all lanes of this process see it. */
export type Endpoint = {
  origin: string
  breaker: Breaker
  /** Milliseconds that its answers take, the last ones counting most. */
  answerMs: number
  /** Deliveries for it that this process has deferred, less what it has answered since: about how many are before the next one. */
  behind: number
  /** When a delivery last named it. */
  usedAt: number
}

export type Endpoints = {
  of(origin: string, now: number): Endpoint
  /** A delivery for these was deferred for the first time. */
  deferred(origins: Iterable<string>, now: number): void
  /** Its breaker has opened or closed. */
  turned(endpoint: Endpoint): void
  onTurned(listener: (endpoint: Endpoint) => void): void
  /** Lets go of those that nothing has named for long; may be called as often as one likes. */
  forget(now: number): void
  count(): { closed: number; open: number }
}

/** What is forgotten is taken for healthy when it is named again; that costs an endpoint in trouble some POSTs. */
export const KEPT_MS = 15 * 60_000
const FORGETS_EVERY_MS = 60_000

export function createEndpoints(): Endpoints {
  const endpoints = new Map<string, Endpoint>()
  let forgotAt = 0
  const listeners: ((endpoint: Endpoint) => void)[] = []

  function of(origin: string, now: number): Endpoint {
    const known = endpoints.get(origin)
    if (known) {
      known.usedAt = now
      return known
    }
    const made: Endpoint = { origin, breaker: HEALTHY, answerMs: 0, behind: 0, usedAt: now }
    endpoints.set(origin, made)
    return made
  }

  return {
    of,
    deferred(origins, now) {
      for (const origin of origins) of(origin, now).behind += 1
    },
    turned(endpoint) {
      for (const listener of listeners) listener(endpoint)
    },
    onTurned: (listener) => void listeners.push(listener),
    forget(now) {
      if (now - forgotAt < FORGETS_EVERY_MS) return
      forgotAt = now
      for (const [origin, { usedAt }] of endpoints) if (now - usedAt > KEPT_MS) endpoints.delete(origin)
    },
    count() {
      let open = 0
      for (const { breaker } of endpoints.values()) if (breaker.open) open += 1
      return { closed: endpoints.size - open, open }
    },
  }
}
