import { z } from 'zod'

/** Where something stands among others: by its time (ms since 1970), where that is the same by its place in its topic. */
export type Place = { time: number; partition: number; offset: number }

/** @returns below 0 when `a` is the older one. */
export function compare(a: Place, b: Place): number {
  return a.time - b.time || a.partition - b.partition || a.offset - b.offset
}

/** The same in every process, also after a restart. */
export const cursorOf = ({ time, partition, offset }: Place) => `${time}.${partition}.${offset}`

/** `next` of the page before. */
export const cursorShape = z
  .string()
  .regex(/^-?\d{1,15}\.\d{1,9}\.\d{1,15}$/, 'give the next of the page before')
  .transform((text): Place => {
    const [time = 0, partition = 0, offset = 0] = text.split('.').map(Number)
    return { time, partition, offset }
  })
