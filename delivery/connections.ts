/** What `createConnections` keeps. It sets `idleSince` when the connection is released. */
export type Kept = { idleSince: number; destroy(): unknown }

export type Connections<C extends Kept> = {
  /** A connection to the origin that is not in use. `owner`: the webhook whose POSTs alone may use it. */
  take(owner: string, origin: string): C
  /** The connection may be used again. */
  release(owner: string, connection: C): void
  /** The connection is broken, or must be cut off. */
  drop(connection: C): void
  /** Closes what has been idle for long. */
  tidy(now: number): void
  close(): Promise<void>
}

/** The client closes an idle connection after this time at the latest; `tidy` frees its memory. */
export const IDLE_MS = 10_000
/** For all owners together. The lane's slots limit the connections in use, not the idle ones. */
const MAX_IDLE = 2_048
/** When too many are idle, those that nobody has used for this long are closed. */
const QUIET_MS = 2_000
/** Looking for them means looking at all idle connections: not with each POST. */
const LOOK_MS = 250

/**
 * Keeps connections by owner, with one POST at a time on each. The one that was used last is taken first. When too many
 * are idle, the quiet ones are closed, whoever owns them. If none is quiet, a released connection is closed: closing the
 * oldest would close each before its next use where very many owners take turns. (A pool of the client would search all
 * connections of an origin for each POST, and would have a queue of its own.)
 */
export function createConnections<C extends Kept>(
  open: (origin: string) => C,
  now: () => number,
): Connections<C> {
  /** By owner. The one that has been idle for longest comes first. */
  const idle = new Map<string, C[]>()
  const all = new Set<C>()
  let count = 0
  let lookedAt = Number.NEGATIVE_INFINITY

  function close(connection: C): void {
    all.delete(connection)
    void connection.destroy()
  }

  /** Closes the connection in a later turn: the client still works on it while it reports the end of a request. */
  function drop(connection: C): void {
    setImmediate(close, connection)
  }

  function dropIdle(isOld: (since: number) => boolean): void {
    for (const [owner, kept] of idle) {
      while (kept[0] && isOld(kept[0].idleSince)) {
        drop(kept[0])
        kept.shift()
        count -= 1
      }
      if (kept.length === 0) idle.delete(owner)
    }
  }

  function makeRoom(at: number): void {
    if (at - lookedAt < LOOK_MS) return
    lookedAt = at
    dropIdle((since) => at - since > QUIET_MS)
  }

  return {
    take(owner, origin) {
      const last = idle.get(owner)?.pop()
      if (last) {
        count -= 1
        return last
      }
      const connection = open(origin)
      all.add(connection)
      return connection
    },
    release(owner, connection) {
      const at = now()
      if (count >= MAX_IDLE) makeRoom(at)
      if (count >= MAX_IDLE) return drop(connection)
      connection.idleSince = at
      count += 1
      const others = idle.get(owner)
      if (others) others.push(connection)
      else idle.set(owner, [connection])
    },
    drop,
    tidy: (at) => dropIdle((since) => at - since > IDLE_MS),
    async close() {
      idle.clear()
      await Promise.all([...all].map((connection) => connection.destroy()))
    },
  }
}
