const STORAGE_KEY = 'sluice.reloaded-at'

/** Between automatic reloads: the page must not loop if the fault persists. */
const INTERVAL_MS = 60_000

/**
 * Reloads the page because an update of Sluice has removed one of its chunks. Does nothing while the server is down.
 */
export async function reloadOnce(reload: () => void): Promise<void> {
  if (!mayReload(Number(sessionStorage.getItem(STORAGE_KEY) ?? 0), Date.now())) return
  const isUp = await fetch('/', { method: 'HEAD', headers: { accept: 'text/html' } }).then(
    ({ ok }) => ok,
    () => false,
  )
  if (!isUp) return
  sessionStorage.setItem(STORAGE_KEY, String(Date.now()))
  reload()
}

/** @param lastAt of the last automatic reload, in ms since 1970. */
export const mayReload = (lastAt: number, now: number): boolean => now - lastAt > INTERVAL_MS
