import { api, resultOf } from './client/client.ts'
import { ApiError } from './client/errors.ts'

/**
 * @returns how many settings are missing because Sluice could not read them
 * @throws ApiError
 */
export async function downloadBackup(): Promise<number> {
  const text = await resultOf(api.GET('/api/backup', { parseAs: 'text' }))
  if (!/\nend [\w-]+\n$/.test(text.slice(-100))) throw brokenOff()
  const { missing } = JSON.parse(text.slice(0, text.indexOf('\n'))) as { missing: string[] } // its first line
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  link.download = `sluice-${new Date().toISOString().slice(0, 10)}.backup`
  link.click()
  URL.revokeObjectURL(url)
  return missing.length
}

const brokenOff = () =>
  new ApiError({ code: 'incomplete', message: 'The download broke off. Try again.', errors: [] }, 0)
