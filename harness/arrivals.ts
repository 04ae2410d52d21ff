import type { Arrival, Receiver } from './receiver.ts'

/** Whether a call was answered below 500 at a path. Reads each arrival once, so it is cheap to poll. */
export function deliveredAt(
  receiver: Pick<Receiver, 'arrivals'>,
): (path: string, messageId: string) => boolean {
  const delivered = new Set<string>()
  let looked = 0
  let unanswered: Arrival[] = []

  function look(): void {
    const latest = [...unanswered, ...receiver.arrivals.slice(looked)]
    looked = receiver.arrivals.length
    for (const { path, status, headers } of latest)
      if (status !== undefined && status < 500) delivered.add(`${path} ${headers['x-message-id']}`)
    unanswered = latest.filter(({ status }) => status === undefined)
  }

  return (path, messageId) => {
    if (delivered.has(`${path} ${messageId}`)) return true
    look()
    return delivered.has(`${path} ${messageId}`)
  }
}

/** Without later attempts of a delivery, as a slow receiver may read them out of order. Repeats of one attempt stay. */
export function withoutRetries(arrivals: readonly Arrival[]): Arrival[] {
  const attempts = new Map<unknown, Set<unknown>>()
  return arrivals.filter(({ headers: { 'x-delivery-id': id, 'x-attempt': attempt } }) => {
    const before = attempts.get(id)
    const isRetry = before !== undefined && !before.has(attempt)
    attempts.set(id, new Set(before).add(attempt))
    return !isRetry
  })
}

/** @returns `<delivery>: <attempts in order>` for each delivery that `withoutRetries` has more than once */
export function postedAgain(arrivals: readonly Arrival[]): string[] {
  const idOf = ({ headers }: Arrival) => String(headers['x-delivery-id'])
  const left = Map.groupBy(withoutRetries(arrivals), idOf)
  const all = Map.groupBy(arrivals, idOf)
  const attemptsOf = (id: string) => all.get(id)?.map(({ headers }) => headers['x-attempt'])
  return [...left]
    .filter(([, { length }]) => length > 1)
    .map(([id]) => `${id}: ${attemptsOf(id)?.join(', ')}`)
}
