import type { Reader } from '../../kafka/reader.ts'
import type { Codec, Decoded } from '../../schemas/codec.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import type { Place } from '../newest/place.ts'
import { oneByOne } from '../one-by-one.ts'
import { rangesOf } from './ranges.ts'

type Where = Pick<Place, 'partition' | 'offset'>

/** Reads the deliveries at these places; what the topic has no more, or cannot be read, is left out. @throws when Kafka does not answer. */
export type ReadBodies = <T extends Where>(places: readonly T[]) => Promise<Map<T, Delivery>>

export function bodiesFrom(reader: Pick<Reader, 'read'>, codec: Pick<Codec<Delivery>, 'decode'>): ReadBodies {
  // a partition has one range that is read
  const inTurn = oneByOne()

  async function readNow<T extends Where>(places: readonly T[]): Promise<Map<T, Delivery>> {
    const wanted = new Map(places.map((place) => [keyOf(place), place]))
    const found = new Map<T, Decoded<Delivery> | Promise<Decoded<Delivery>>>()
    const partitions = rangesOf(places).map(async (ranges) => {
      for (const range of ranges)
        await reader.read(range, (value, offset) => {
          const place = wanted.get(keyOf({ partition: range.partition, offset }))
          if (place) found.set(place, codec.decode(value))
        })
    })
    await Promise.all(partitions)
    const bodies = new Map<T, Delivery>()
    for (const [place, decoding] of found) {
      const decoded = await decoding
      if (decoded.ok) bodies.set(place, decoded.value)
    }
    return bodies
  }

  return (places) => inTurn(() => readNow(places))
}

const keyOf = ({ partition, offset }: Where) => `${partition}/${offset}`
