import type { Codec } from '../../schemas/codec.ts'

/** Why a record is passed over. */
export const UNREADABLE = ['undecodable', 'unknown_schema', 'registry_unreachable'] as const
export type Unreadable = (typeof UNREADABLE)[number]

/** Hands over what a record's value says: at once, or when the registry has told its schema. */
export type Decode<T> = (value: Buffer | null, onValue: (value: T) => void) => void

/** Each holds its fetch until the registry has answered. */
const MOST_WAITING = 1_000

/** For those who only look on: what cannot be read is passed over, and stops nobody. */
export function decodeOrPass<T>(
  codec: Pick<Codec<T>, 'decode'>,
  onUnreadable: (reason: Unreadable) => void,
): Decode<T> {
  let waiting = 0
  return (value, onValue) => {
    if (waiting >= MOST_WAITING) return onUnreadable('registry_unreachable')
    const decoding = codec.decode(value)
    if (!(decoding instanceof Promise)) return take(decoding)
    waiting += 1
    void decoding.then(take).finally(() => {
      waiting -= 1
    })

    function take(decoded: Awaited<typeof decoding>): void {
      if (decoded.ok) onValue(decoded.value)
      else onUnreadable(decoded.reason)
    }
  }
}
