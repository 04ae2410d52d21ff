import type { ReactNode } from 'react'
import { useMayWrite } from '../api/session.ts'

/** Shows its children only to users who may make changes. */
export function ForAdmin({ children }: { children: ReactNode }) {
  return useMayWrite() ? children : null
}
