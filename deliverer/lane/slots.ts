import { createPace } from './pace.ts'
import { createFifo, type Fifo, type Standing } from './state.ts'

/** A POST under way takes a slot until its connection is free again. */
export type Slot = {
  readonly since: number
  readonly doubtful: boolean
  readonly host: PromptCount
  late: boolean
  free: boolean
}

/** Counts the prompt POSTs of one host. */
export type PromptCount = { prompt: number }

export type Slots = {
  /** Whether a POST to a line of this standing may have one. */
  isFree(standing: Standing, now: number): boolean
  take(standing: Standing, host: PromptCount, now: number): Slot
  release(slot: Slot): void
  count(): { prompt: number; late: number }
}

const LATE_MS = 1_000
/** Of the budget so much may be out to endpoints in doubt, however many of them there are. */
const DOUBTFUL = 1 / 4
/**
 * Slow endpoints, whose answers come together and whose connections may be new, begin no more than this part of the budget in a
 * second, and of it so much at once: more than they have use for, as each POST takes half a second or longer, and in bites for
 * which no prompt one has to wait long.
 */
const PACED_PER_SECOND = 5 / 2
const PACED_AT_ONCE = 1 / 64

/**
 * A lane's budget, once for prompt POSTs and once for late ones. A prompt one that has been under way for a second becomes
 * late, as long as there is room among these: however many endpoints die at once, the others get their slots back within a
 * second, not after the five that an answer may take. Those in doubt have a share of their own, and leave half of the late
 * slots to slow endpoints, whose POSTs are late from the beginning.
 */
export function createSlots(budget: number): Slots {
  const oldest = { trusted: createFifo<Slot>(), doubtful: createFifo<Slot>() }
  const mostDoubtful = Math.max(1, Math.floor(budget * DOUBTFUL))
  let prompt = 0
  let late = 0
  let doubtful = 0
  const pace = createPace({
    perMs: Math.max(20, budget * PACED_PER_SECOND) / 1_000,
    atOnce: Math.max(1, budget * PACED_AT_ONCE),
  })

  function age(slots: Fifo<Slot>, mostLate: number, now: number): void {
    for (let slot = slots.first(); slot; slot = slots.first()) {
      if (!slot.free) {
        if (now - slot.since <= LATE_MS || late >= mostLate) return
        leavePrompt(slot)
        slot.late = true
        late += 1
      }
      slots.take()
    }
  }

  function leavePrompt(slot: Slot): void {
    prompt -= 1
    slot.host.prompt -= 1
    if (slot.doubtful) doubtful -= 1
  }

  return {
    isFree(standing, now) {
      age(oldest.trusted, budget, now)
      age(oldest.doubtful, budget / 2, now)
      if (standing === 'slow') return late < budget && pace.allows(now)
      return prompt < budget && (standing === 'prompt' || doubtful < mostDoubtful)
    },
    take(standing, host, now) {
      const slot = {
        since: now,
        doubtful: standing === 'doubtful',
        host,
        late: standing === 'slow',
        free: false,
      }
      if (slot.late) {
        late += 1
        pace.begun()
        return slot
      }
      prompt += 1
      host.prompt += 1
      if (slot.doubtful) doubtful += 1
      const slots = slot.doubtful ? oldest.doubtful : oldest.trusted
      slots.push(slot)
      return slot
    },
    release(slot) {
      slot.free = true
      if (slot.late) late -= 1
      else leavePrompt(slot)
    },
    count: () => ({ prompt, late }),
  }
}
