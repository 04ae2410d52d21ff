import type { DeadLetter } from '../dead/query.ts'
import type { Fault } from '../http/answer.ts'

/** Where a dead letter lies in its topic. */
export type Place = Pick<DeadLetter, 'partition' | 'offset'>

type Naming = {
  destinationId: string
  what: 'dead' | 'events'
  deliveryIds?: string[] | undefined
  from?: string | undefined
  to?: string | undefined
  reason?: string | undefined
}

/** The dead letters that are named, or what is wrong with naming them. */
export function choose(
  { deliveryIds = [], destinationId, what, ...others }: Naming,
  dead: readonly DeadLetter[],
): { places: Place[]; faults: Fault[] } {
  const faults: Fault[] = (['from', 'to', 'reason'] as const)
    .filter((name) => others[name] !== undefined)
    .map((name) => ({
      pointer: `/${name}`,
      code: 'invalid_value',
      message: 'deliveryIds says already which: leave it out',
    }))
  if (what !== 'dead')
    faults.push({
      pointer: '/deliveryIds',
      code: 'invalid_value',
      message: 'only dead letters are chosen by it',
    })
  // oldest first: of one delivery the last stays
  const known = new Map(
    dead
      .filter((letter) => letter.destinationId === destinationId)
      .map((letter) => [letter.deliveryId, letter]),
  )
  const chosen = new Set<DeadLetter>()
  for (const [index, id] of deliveryIds.entries()) {
    const letter = known.get(id)
    if (letter) chosen.add(letter)
    else
      faults.push({
        pointer: `/deliveryIds/${index}`,
        code: 'unknown_delivery',
        message: `there is no dead letter ${id} of ${destinationId} among the last 100,000: replay by time`,
      })
  }
  const places = [...chosen].map(({ partition, offset }) => ({ partition, offset }))
  return { places, faults }
}
