import { useEffect } from 'react'
import type { RouterProps } from 'wouter'

let unsaved = 0

/** While it is so, leaving the page or the view is asked about. */
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

/** Goes to another view, unless what is typed is to be kept. */
export const goIfSaved: NonNullable<RouterProps['aroundNav']> = (go, to, options) => {
  if (unsaved === 0 || window.confirm('What you have typed here is not saved. Leave it all the same?'))
    go(to, options)
}
