import { api, resultOf, type Schemas } from './client/client.ts'
import { useSearch } from './client/search.ts'

export type AuditEntry = Schemas['AuditEntry']
export type AuditFilter = { what?: string; id?: string }

export const useAudit = (filter: AuditFilter) =>
  useSearch(['audit', filter], (from, signal) =>
    resultOf(api.GET('/api/audit', { params: { query: { ...filter, ...from } }, signal })),
  )
