import { isConflict } from './errors.ts'

const STAMPS = ['version', 'updatedAt']
/** If a replacement leaves them out, control keeps or generates them. */
const KEPT = ['writeKey', 'hashKey']

/** Whether the stored record equals what was sent. Masked secrets count as equal. */
export function isAlreadySaved(sent: object, current: object): boolean {
  const [wanted, stored] = [new Map(Object.entries(sent)), new Map(Object.entries(current))]
  return [...new Set([...wanted.keys(), ...stored.keys()])]
    .filter((name) => !STAMPS.includes(name) && (wanted.has(name) || !KEPT.includes(name)))
    .every((name) => JSON.stringify(wanted.get(name)) === JSON.stringify(stored.get(name)))
}

/**
 * If the response to a change was lost and the user repeats it, control reports a conflict with the first try. This
 * returns the stored record instead.
 * @throws ApiError
 */
export async function unlessSaved<T extends object>(
  change: Promise<T>,
  { sent, read }: { sent: object; read: () => Promise<T> },
): Promise<T> {
  try {
    return await change
  } catch (error) {
    if (!isConflict(error)) throw error
    const current = await read().catch(() => undefined)
    if (current && isAlreadySaved(sent, current)) return current
    throw error
  }
}
