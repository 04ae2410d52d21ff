import { useEffect } from 'react'
import type { RouterProps } from 'wouter'

let unsaved = 0
/** The view's address while something is unsaved. */
let address = ''

/** Leaving the page or the view asks for confirmation. */
export function useUnsaved(isUnsaved: boolean): void {
  useEffect(() => {
    if (!isUnsaved) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    unsaved += 1
    address = window.location.href
    window.addEventListener('beforeunload', ask)
    return () => {
      unsaved -= 1
      window.removeEventListener('beforeunload', ask)
    }
  }, [isUnsaved])
}

export const confirmLeave: NonNullable<RouterProps['aroundNav']> = (go, to, options) => {
  if (unsaved === 0 || isConfirmed()) go(to, options)
}

/**
 * Asks after back and forward, which the router cannot stop. To stay, it adds the view to the history again. Must be
 * the first listener of `popstate`, so that the router then finds the address unchanged.
 */
export function holdUnsaved(): void {
  if (unsaved === 0 || window.location.pathname === new URL(address).pathname || isConfirmed()) return
  window.history.pushState(null, '', address)
}

const isConfirmed = (): boolean => window.confirm('You have unsaved changes. Leave without saving?')
