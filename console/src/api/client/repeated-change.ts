import { isConflict } from './errors.ts'

const STAMPS = ['version', 'updatedAt']
/** Control keeps or generates them if a replacement leaves them out. */
const KEPT = ['writeKey', 'hashKey']

/** Whether the record is what was sent, whoever sent it. Masked secrets look unchanged. */
export function isAlreadySaved(sent: object, current: object): boolean {
  const [wanted, stored] = [new Map(Object.entries(sent)), new Map(Object.entries(current))]
  return [...new Set([...wanted.keys(), ...stored.keys()])]
    .filter((name) => !STAMPS.includes(name) && (wanted.has(name) || !KEPT.includes(name)))
    .every((name) => JSON.stringify(wanted.get(name)) === JSON.stringify(stored.get(name)))
}

/**
 * A change whose answer was lost meets its own result when the user repeats it. That is no conflict.
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
