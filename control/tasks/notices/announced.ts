import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { OutRecord } from '../../../kafka/produce/produce.ts'
import { TASKS } from '../../../schemas/topics.ts'
import { hashedId } from '../../../settings/suppression-list.ts'

/** What the last notice about a webhook said. Without one of these, the webhook counts as healthy. */
export const TROUBLES = ['failing', 'rejecting'] as const
export type Trouble = (typeof TROUBLES)[number]

/**
 * The webhooks whose trouble was announced, so that their recovery is announced too, even after a restart. Topic `tasks`
 * has a JSON record for each, with the key `notice/<id>`. A webhook's URL may contain a token, so the id is a hash.
 */
export type Announced = {
  /** By id. */
  states: ReadonlyMap<string, Trouble>
  /** @returns false if the record is not about a notice. */
  apply(key: string, value: Buffer | undefined): boolean
}

const PREFIX = 'notice/'
const shape = z.object({ state: z.enum(TROUBLES) })

export function createAnnounced(): Announced {
  const states = new Map<string, Trouble>()
  return {
    states,
    apply(key, value) {
      if (!key.startsWith(PREFIX)) return false
      const id = key.slice(PREFIX.length)
      const state = value && stateIn(value)
      if (state) states.set(id, state)
      else states.delete(id)
      return true
    },
  }
}

function stateIn(value: Buffer): Trouble | undefined {
  try {
    return shape.parse(JSON.parse(value.toString())).state
  } catch {
    return undefined
  }
}

/** @param webhook its key: see `Target`. */
export const noticeId = (webhook: string): string => hashedId([webhook])

/**
 * Each record of a state has a unique value, like the records of tasks (`taskRecord`).
 * @param state undefined: the webhook is healthy, or was removed.
 */
export const announcedRecord = (id: string, state: Trouble | undefined): OutRecord => ({
  topic: TASKS,
  key: PREFIX + id,
  value: state ? JSON.stringify({ state, nonce: randomUUID() }) : null,
})
