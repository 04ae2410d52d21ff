import type { Client } from 'undici'

export type Connections = {
  /** One that nobody uses, to a URL's origin, kept from before or new. `owner`: destination and origin; it is no other's. */
  take(owner: string, origin: string): Client
  /** It may be used again. */
  release(owner: string, client: Client): void
  /** It may not, whether it is broken or has to be cut off. */
  drop(client: Client): void
  /** Closes what nothing has used for long. */
  tidy(now: number): void
  close(): Promise<void>
}

type Idle = { client: Client; since: number }

/** The client closes an unused connection by itself, at the latest after this time; what is let go of here is memory. */
export const IDLE_MS = 10_000
/** Of all origins together: the slots bound what is in use, not what is kept. */
const MAX_IDLE = 2_048

/**
 * Connections by destination and origin, one POST at a time on each, the last used one first. Slots bound how many are in use; a pool of the
 * client would look through all of an origin's at each POST, and queue by itself what a slot was given for.
 */
export function createConnections(open: (origin: string) => Client, now: () => number): Connections {
  const idle = new Map<string, Idle[]>()
  const all = new Set<Client>()
  let count = 0

  function forget(client: Client): void {
    all.delete(client)
    void client.destroy()
  }

  /** The client counts what it has while it tells how a request ended: not in that turn. */
  function drop(client: Client): void {
    setImmediate(forget, client)
  }

  return {
    take(owner, origin) {
      const kept = idle.get(owner)?.pop()
      if (kept) {
        count -= 1
        return kept.client
      }
      const client = open(origin)
      all.add(client)
      return client
    },
    release(owner, client) {
      if (count >= MAX_IDLE) {
        drop(client)
        return
      }
      count += 1
      const kept = { client, since: now() }
      const others = idle.get(owner)
      if (others) others.push(kept)
      else idle.set(owner, [kept])
    },
    drop,
    tidy(at) {
      for (const [owner, kept] of idle) {
        const fresh = kept.filter(({ since }) => at - since <= IDLE_MS)
        for (const { client, since } of kept) if (at - since > IDLE_MS) forget(client)
        count -= kept.length - fresh.length
        if (fresh.length > 0) idle.set(owner, fresh)
        else idle.delete(owner)
      }
    },
    async close() {
      idle.clear()
      await Promise.all([...all].map((client) => client.destroy()))
    },
  }
}
