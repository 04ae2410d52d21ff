import type { ReactNode } from 'react'
import { useMayWrite } from '../api/session.ts'

/** For who may change things alone. */
export function ForAdmin({ children }: { children: ReactNode }) {
  return useMayWrite() ? children : null
}
