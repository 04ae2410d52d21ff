export type Pooled = { idleSince: number; destroy(): unknown }

export type Connections<C extends Pooled> = {
  /** `owner`: the only webhook whose POSTs may use the connection. */
  take(owner: string, origin: string): C
  release(owner: string, connection: C): void
  drop(connection: C): void
  /** Closes those idle for too long. */
  closeIdle(now: number): void
  close(): Promise<void>
}

/** The client closes idle connections after this time at the latest. `closeIdle` frees their memory. */
export const IDLE_MS = 10_000
const QUIET_MS = 2_000
/** Walking over all idle connections is too slow for each POST. */
const SWEEP_MS = 250

/** `maxIdle`: idle connections of all owners. The lane's slots limit connections in use. `now`: ms. */
type Options = { maxIdle: number; now: () => number }

/**
 * Pools connections by owner, the last used first. If too many are idle, it closes those idle for long, or else the
 * released one. With very many owners, closing the oldest would close each before its next use (docs/decisions/003).
 */
export function createConnections<C extends Pooled>(
  open: (origin: string, owner: string) => C,
  { maxIdle, now }: Options,
): Connections<C> {
  const all = new Set<C>()
  const idle = createIdle<C>(drop)
  let sweptAt = Number.NEGATIVE_INFINITY

  function close(connection: C): void {
    all.delete(connection)
    void connection.destroy()
  }

  /** Closes it in a later turn, as the client may still be reporting the end of a request. */
  function drop(connection: C): void {
    setImmediate(close, connection)
  }

  function makeRoom(at: number): void {
    if (at - sweptAt < SWEEP_MS) return
    sweptAt = at
    idle.dropOlder(QUIET_MS, at)
  }

  return {
    take(owner, origin) {
      const last = idle.take(owner)
      if (last) return last
      const connection = open(origin, owner)
      all.add(connection)
      return connection
    },
    release(owner, connection) {
      const at = now()
      if (idle.count() >= maxIdle) makeRoom(at)
      if (idle.count() >= maxIdle) return drop(connection)
      connection.idleSince = at
      idle.add(owner, connection)
    },
    drop,
    closeIdle: (at) => idle.dropOlder(IDLE_MS, at),
    async close() {
      idle.clear()
      await Promise.all([...all].map((connection) => connection.destroy()))
    },
  }
}

/** Each owner's connections, the oldest first. */
function createIdle<C extends Pooled>(drop: (connection: C) => void) {
  const byOwner = new Map<string, C[]>()
  let count = 0

  return {
    count: () => count,
    /** The last used. */
    take(owner: string): C | undefined {
      const last = byOwner.get(owner)?.pop()
      if (last) count -= 1
      return last
    },
    add(owner: string, connection: C): void {
      count += 1
      const pooled = byOwner.get(owner)
      if (pooled) pooled.push(connection)
      else byOwner.set(owner, [connection])
    },
    dropOlder(ms: number, now: number): void {
      for (const [owner, pooled] of byOwner) {
        while (pooled[0] && now - pooled[0].idleSince > ms) {
          drop(pooled[0])
          pooled.shift()
          count -= 1
        }
        if (pooled.length === 0) byOwner.delete(owner)
      }
    },
    clear: () => byOwner.clear(),
  }
}
