import type { Arrival, Receiver } from './receiver.ts'

/** What a receiver has answered below 500, by path and message id: cheap to ask again and again. */
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
