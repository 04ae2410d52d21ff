import { access, mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { CliFault } from '../fault.ts'

/** `isMade`: nobody edits it, so that a newer one may always take its place. */
export type NewFile = { path: string; text: string; isMade?: true }

/** Writes all of them, or none where one is there already. @throws CliFault cannot_write */
export async function writeNew(files: readonly NewFile[], { force }: { force: boolean }): Promise<void> {
  for (const { path, isMade } of files)
    if (!force && !isMade && (await isThere(path)))
      throw new CliFault('cannot_write', `${path} is there already: --force writes over it`)
  try {
    for (const { path, text } of files) {
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, text)
    }
  } catch (cause) {
    throw new CliFault('cannot_write', cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )
