import type { components } from '../../api/client/schema.ts'

export type AuditEntry = components['schemas']['AuditEntry']

export const KINDS: Readonly<Record<string, string>> = {
  source: 'Source',
  destination: 'Destination',
  suppression: 'Suppression',
  audience: 'Audience',
  trait: 'Trait',
  deletion: 'Deletion',
  sync: 'Sync',
  replay: 'Replay',
  test: 'Test send',
  session: 'Session',
  token: 'Workspace token',
  search: 'Search for a user',
  backup: 'Backup',
  restore: 'Restore',
}

export const OUTCOMES: Readonly<Record<string, string>> = {
  created: 'created',
  replaced: 'changed',
  removed: 'removed',
  uploaded: 'uploaded',
  cancelled: 'cancelled',
  sent: 'sent',
  searched: 'searched',
  downloaded: 'downloaded',
  begun: 'begun',
  restored: 'restored',
  interrupted: 'interrupted',
  unavailable: 'not confirmed',
}

export const INCOMPLETE: ReadonlySet<string> = new Set(['interrupted', 'unavailable'])

/** A newer Sluice may have more kinds. */
export const whatLabel = (what: string): string => KINDS[what] ?? what

/** Such as `name: "CRM" → "CRM 2"`. */
export const changeLines = ({ changes }: Pick<AuditEntry, 'changes'>): string[] =>
  Object.entries(changes).map(([pointer, change]) => {
    const field = pointer
      .slice(1)
      .split('/')
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
      .join(' ')
    if (typeof change !== 'object' || change === null) return `${field}: changed`
    const { from, to } = change as { from?: unknown; to?: unknown } // the API's form
    if (from === undefined) return `${field}: ${JSON.stringify(to)}`
    return to === undefined
      ? `${field}: removed, was ${JSON.stringify(from)}`
      : `${field}: ${JSON.stringify(from)} → ${JSON.stringify(to)}`
  })

export const detailLines = ({ details }: Pick<AuditEntry, 'details'>): string[] =>
  Object.entries(details).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
