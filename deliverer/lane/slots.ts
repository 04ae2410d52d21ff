import { createFifo, type Fifo } from '../../process/fifo.ts'
import { createTokenBucket } from '../../process/token-bucket.ts'
import type { Standing } from './state.ts'

export type Slot = {
  readonly since: number
  readonly doubtful: boolean
  readonly host: PromptCount
  late: boolean
  free: boolean
}

export type PromptCount = { prompt: number }

const LATE_MS = 1_000
/** Share of the budget for all doubtful webhooks together. */
const DOUBTFUL = 1 / 4
/**
 * How many POSTs to slow webhooks may begin, as shares of the budget: per second, and at once, because their answers
 * come in bursts. The rate is more than they can use, and the bursts are too small to delay prompt POSTs.
 */
const SLOW_PER_SECOND = 5 / 2
const SLOW_AT_ONCE = 1 / 64

/**
 * A lane's budget, once for prompt POSTs and once for late ones. A prompt POST becomes late after a second if a late
 * slot is free, so dying webhooks return their slots early. Doubtful webhooks get a quarter, and leave half of the late
 * slots to slow webhooks, whose POSTs are late at once.
 */
export class Slots {
  readonly #budget: number
  readonly #maxDoubtful: number
  readonly #oldest = { trusted: createFifo<Slot>(), doubtful: createFifo<Slot>() }
  readonly #slowRate: ReturnType<typeof createTokenBucket>
  #prompt = 0
  #late = 0
  #doubtful = 0

  constructor(budget: number) {
    this.#budget = budget
    this.#maxDoubtful = Math.max(1, Math.floor(budget * DOUBTFUL))
    this.#slowRate = createTokenBucket({
      perSecond: Math.max(20, budget * SLOW_PER_SECOND),
      burst: Math.max(1, budget * SLOW_AT_ONCE),
    })
  }

  /** Call this before `isFree`. */
  age(now: number): void {
    this.#age(this.#oldest.trusted, this.#budget, now)
    this.#age(this.#oldest.doubtful, this.#budget / 2, now)
  }

  isFree(standing: Standing, now: number): boolean {
    if (standing === 'slow') return this.#late < this.#budget && this.#slowRate.allows(now)
    return this.#prompt < this.#budget && (standing === 'prompt' || this.#doubtful < this.#maxDoubtful)
  }

  take(standing: Standing, host: PromptCount, now: number): Slot {
    const isLate = standing === 'slow'
    const slot = { since: now, doubtful: standing === 'doubtful', host, late: isLate, free: false }
    if (isLate) {
      this.#late += 1
      this.#slowRate.take(now)
      return slot
    }
    this.#prompt += 1
    host.prompt += 1
    if (slot.doubtful) this.#doubtful += 1
    const { trusted, doubtful } = this.#oldest
    if (slot.doubtful) doubtful.push(slot)
    else trusted.push(slot)
    return slot
  }

  release(slot: Slot): void {
    slot.free = true
    if (slot.late) this.#late -= 1
    else this.#leavePrompt(slot)
  }

  count(): { prompt: number; late: number } {
    return { prompt: this.#prompt, late: this.#late }
  }

  #age(slots: Fifo<Slot>, maxLate: number, now: number): void {
    for (let slot = slots.first(); slot; slot = slots.first()) {
      if (!slot.free) {
        if (now - slot.since <= LATE_MS || this.#late >= maxLate) return
        this.#leavePrompt(slot)
        slot.late = true
        this.#late += 1
      }
      slots.take()
    }
  }

  #leavePrompt(slot: Slot): void {
    this.#prompt -= 1
    slot.host.prompt -= 1
    if (slot.doubtful) this.#doubtful -= 1
  }
}
