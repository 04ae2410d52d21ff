import { createFifo } from './fifo.ts'

/** A POST under way takes a slot until its connection is free again. */
export type Slot = { readonly since: number; late: boolean; free: boolean }

export type Slots = {
  isFree(now: number): boolean
  take(now: number): Slot
  release(slot: Slot): void
  /** Those that count against the budget, and those that are late. */
  count(): { prompt: number; late: number }
}

const LATE_MS = 1_000

/**
 * A lane's budget. A POST that has been under way for a second is late and stops counting, as long as there are fewer late
 * ones than the budget itself: however many endpoints die at once, the others get their slots back within a second, not
 * after the five that an answer may take. Twice the budget bounds what is under way in all.
 */
export function createSlots(budget: number): Slots {
  const oldestFirst = createFifo<Slot>()
  let prompt = 0
  let late = 0

  function age(now: number): void {
    for (let oldest = oldestFirst.first(); oldest; oldest = oldestFirst.first()) {
      if (!oldest.free) {
        if (now - oldest.since <= LATE_MS || late >= budget) return
        oldest.late = true
        prompt -= 1
        late += 1
      }
      oldestFirst.take()
    }
  }

  return {
    isFree(now) {
      age(now)
      return prompt < budget
    },
    take(now) {
      const slot: Slot = { since: now, late: false, free: false }
      oldestFirst.push(slot)
      prompt += 1
      return slot
    },
    release(slot) {
      slot.free = true
      if (slot.late) late -= 1
      else prompt -= 1
    },
    count: () => ({ prompt, late }),
  }
}
