import { randomBytes } from 'node:crypto'
import { chmod, mkdir, open, readFile, rename, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { messageOf } from '../process/thrown.ts'
import { LocalError } from './errors.ts'

/** This checkout, without a trailing slash. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')

/** Absolute. */
export function dataFolder(env: { readonly SLUICE_DATA?: string | undefined }): string {
  const folder = env.SLUICE_DATA || '.sluice'
  return isAbsolute(folder) ? folder : resolve(ROOT, folder)
}

/** Only the owner can read it. @throws LocalError setting_invalid */
export async function makeDataFolder(folder: string): Promise<void> {
  try {
    await makeFolders(folder)
    await chmod(folder, 0o700)
  } catch (cause) {
    const message = `SLUICE_DATA: ${folder} cannot be used: ${messageOf(cause)}`
    throw new LocalError('setting_invalid', message, { cause })
  }
}

/** Without mkdir's `recursive`, which never returns below /proc. */
async function makeFolders(folder: string): Promise<void> {
  const parent = dirname(folder)
  if (parent !== folder) await makeFolders(parent)
  await mkdir(folder, { mode: 0o700 }).catch(async (error) => {
    const found = await stat(folder).catch(() => undefined)
    if (!found?.isDirectory()) throw error
  })
}

/** The file appears whole or not at all, even after a crash. Only its owner can read it. */
export async function writeFileAtomically(path: string, text: string): Promise<void> {
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

const keys = z.object({
  CONTROL_TOKEN: z.string().min(16),
  CONTROL_VIEW_TOKEN: z.string().min(16),
  CONFIG_KEY: z.base64().length(44),
})

export type Keys = z.infer<typeof keys>

/**
 * Creates keys only if the folder `isNew`: a new CONFIG_KEY could not read its settings. @throws LocalError
 * keys_damaged
 */
export async function findKeys(folder: string, options: { isNew: boolean }): Promise<Keys> {
  const path = join(folder, 'keys.json')
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' && options.isNew) return undefined
    throw damaged(
      path,
      error.code === 'ENOENT' ? 'is missing, but the folder contains data' : error.message,
      error,
    )
  })
  if (text === undefined) return makeKeys(path)
  await chmod(path, 0o600)
  return parseKeys(path, text)
}

async function makeKeys(path: string): Promise<Keys> {
  const made: Keys = {
    CONTROL_TOKEN: randomBytes(24).toString('base64url'),
    CONTROL_VIEW_TOKEN: randomBytes(24).toString('base64url'),
    CONFIG_KEY: randomBytes(32).toString('base64'),
  }
  await writeFileAtomically(path, `${JSON.stringify(made, undefined, 2)}\n`)
  return made
}

function parseKeys(path: string, text: string): Keys {
  try {
    return keys.parse(JSON.parse(text))
  } catch (cause) {
    throw damaged(path, 'is damaged', cause)
  }
}

function damaged(path: string, state: string, cause: unknown): LocalError {
  const message = `${path} ${state}. Without its CONFIG_KEY the settings in Kafka cannot be decrypted.
Restore the file, or delete the whole data folder to start empty.`
  return new LocalError('keys_damaged', message, { cause })
}
