import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { LocalFault } from './fault.ts'
import { writeWhole } from './whole-file.ts'

const keys = z.object({
  CONTROL_TOKEN: z.string().min(16),
  CONTROL_VIEW_TOKEN: z.string().min(16),
  CONFIG_KEY: z.base64().length(44),
})

/** By the names of the settings that they become. */
export type Keys = z.infer<typeof keys>

/**
 * The keys of this data folder, made once. New ones in place of lost ones would make the encrypted settings unreadable, so
 * they are made only for a folder that `isNew`. @throws LocalFault keys_damaged
 */
export async function findKeys(folder: string, options: { isNew: boolean }): Promise<Keys> {
  const path = join(folder, 'keys.json')
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' && options.isNew) return undefined
    throw damaged(
      path,
      error.code === 'ENOENT' ? 'is missing, although the folder holds data' : error.message,
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
  await writeWhole(path, `${JSON.stringify(made, undefined, 2)}\n`)
  return made
}

function parseKeys(path: string, text: string): Keys {
  try {
    return keys.parse(JSON.parse(text))
  } catch (cause) {
    throw damaged(path, 'is damaged', cause)
  }
}

function damaged(path: string, what: string, cause?: unknown): LocalFault {
  const message = `${path} ${what}. Without its CONFIG_KEY the settings in Kafka cannot be decrypted.
Put the file back, or remove the whole data folder to start with an empty one.`
  return new LocalFault('keys_damaged', message, { cause })
}

/** The data folder, which nobody else may look into. @throws LocalFault setting_invalid */
export async function makeDataFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await chmod(folder, 0o700)
  } catch (cause) {
    const message = `SLUICE_DATA: ${folder} cannot be a folder: ${(cause as Error).message}`
    throw new LocalFault('setting_invalid', message, { cause })
  }
}
