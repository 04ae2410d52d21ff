import { useEffect } from 'react'
import type { RouterProps } from 'wouter'

let unsaved = 0

/** Leaving the page or the view asks for confirmation. */
export function useUnsaved(isUnsaved: boolean): void {
  useEffect(() => {
    if (!isUnsaved) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    unsaved += 1
    window.addEventListener('beforeunload', ask)
    return () => {
      unsaved -= 1
      window.removeEventListener('beforeunload', ask)
    }
  }, [isUnsaved])
}

export const confirmLeave: NonNullable<RouterProps['aroundNav']> = (go, to, options) => {
  if (unsaved === 0 || window.confirm('You have unsaved changes. Leave without saving?')) go(to, options)
}
