import { mayLoadAnew } from './parts/once.ts'

const AT = 'sluice.loaded-anew'

/** A part of the page that is not there any more: Sluice was updated, and the page of now names others. Not while nobody answers. */
export async function loadAnewOnce(): Promise<void> {
  if (!mayLoadAnew(Number(sessionStorage.getItem(AT) ?? 0), Date.now())) return
  const isThere = await fetch('/', { method: 'HEAD', headers: { accept: 'text/html' } }).then(
    ({ ok }) => ok,
    () => false,
  )
  if (!isThere) return
  sessionStorage.setItem(AT, String(Date.now()))
  window.location.reload()
}
