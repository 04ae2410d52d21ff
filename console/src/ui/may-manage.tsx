import type { ReactNode } from 'react'
import { type Managed, useMayManage } from '../api/session.ts'

export function MayManage({ what, children }: { what: Managed; children: ReactNode }) {
  return useMayManage(what) ? children : null
}
