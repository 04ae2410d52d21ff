import { isAbsolute, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Of this checkout; without a slash at its end. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')

/** Where `npm start` keeps everything; absolute. */
export function dataFolder(env: { readonly SLUICE_DATA?: string | undefined }): string {
  const folder = env.SLUICE_DATA || '.sluice'
  return isAbsolute(folder) ? folder : resolve(ROOT, folder)
}
