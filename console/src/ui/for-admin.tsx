import type { ReactNode } from 'react'
import { useMayWrite } from '../api/session.ts'

export function ForAdmin({ children }: { children: ReactNode }) {
  return useMayWrite() ? children : null
}
