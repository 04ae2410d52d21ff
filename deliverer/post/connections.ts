/** What `createConnections` keeps: anything that can be closed. */
export type Closable = { destroy(): unknown }

export type Connections<C extends Closable> = {
  /** A connection to an origin that nobody uses now. `owner`: only POSTs of the same webhook may go over it. */
  take(owner: string, origin: string): C
  /** The connection may be used again. */
  release(owner: string, connection: C): void
  /** The connection is broken, or has to be cut off. */
  drop(connection: C): void
  /** Closes what has been idle for long. */
  tidy(now: number): void
  close(): Promise<void>
}

type Idle<C> = { owner: string; connection: C; since: number }

/** The client closes an idle connection after this time at the latest; `tidy` frees its memory. */
export const IDLE_MS = 10_000
/** Of all owners together: the lane's slots bound how many are in use, not how many are idle. */
const MAX_IDLE = 2_048

/**
 * Kept connections by owner, one POST at a time on each. The one that was used last is taken first. When too many are idle, the one
 * that has been idle for longest is closed, whoever owns it. (A pool of the client would search all connections of an origin at
 * each POST, and have a queue of its own.)
 */
export function createConnections<C extends Closable>(
  open: (origin: string) => C,
  now: () => number,
): Connections<C> {
  /** All idle ones, and those of each owner; in both the one that has been idle for longest is first. */
  const idle = new Set<Idle<C>>()
  const byOwner = new Map<string, Idle<C>[]>()
  const all = new Set<C>()

  function close(connection: C): void {
    all.delete(connection)
    void connection.destroy()
  }

  /** Closes it in a later turn: the client still works on it while it reports the end of a request. */
  function drop(connection: C): void {
    setImmediate(close, connection)
  }

  /** @param oldest of all that are idle, and so of its owner's. */
  function evict(oldest: Idle<C>): void {
    idle.delete(oldest)
    const others = byOwner.get(oldest.owner)
    others?.shift()
    if (others?.length === 0) byOwner.delete(oldest.owner)
    drop(oldest.connection)
  }

  return {
    take(owner, origin) {
      const last = byOwner.get(owner)?.pop()
      if (last) {
        idle.delete(last)
        return last.connection
      }
      const connection = open(origin)
      all.add(connection)
      return connection
    },
    release(owner, connection) {
      if (idle.size >= MAX_IDLE) {
        const [oldest] = idle
        if (oldest) evict(oldest)
      }
      const one = { owner, connection, since: now() }
      idle.add(one)
      const others = byOwner.get(owner)
      if (others) others.push(one)
      else byOwner.set(owner, [one])
    },
    drop,
    tidy(at) {
      for (const oldest of idle) {
        if (at - oldest.since <= IDLE_MS) return
        evict(oldest)
      }
    },
    async close() {
      idle.clear()
      byOwner.clear()
      await Promise.all([...all].map((connection) => connection.destroy()))
    },
  }
}
