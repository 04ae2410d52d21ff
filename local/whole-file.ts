import { open, rename } from 'node:fs/promises'

/** Writes a file so that it is there whole or not at all, also after a crash; only its owner may read it. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const partial = `${path}.${process.pid}`
  const file = await open(partial, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(partial, path)
}
