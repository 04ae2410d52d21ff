import { z } from 'zod'

/** An HTTP status such as `404`, or a class such as `5xx`. */
export const statusShape = z
  .string()
  .regex(/^[1-9](?:\d\d|xx)$/, 'give an HTTP status such as 404, or a class such as 5xx')

export function matchesStatus(asked: string): (status: number | null) => boolean {
  const [from, to] = asked.endsWith('xx') ? [Number(asked[0]) * 100, 99] : [Number(asked), 0]
  return (status) => status !== null && status >= from && status <= from + to
}
