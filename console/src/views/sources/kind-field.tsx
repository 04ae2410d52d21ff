import { NativeSelect } from '@mantine/core'
import type { Source } from '../../api/sources.ts'

export type Kind = NonNullable<Source['kind']>

const KINDS = [
  { value: 'server', label: 'Server' },
  { value: 'web', label: 'Website' },
  { value: 'mobile', label: 'Mobile app' },
  { value: 'notices', label: 'Notices from Sluice' },
]

/** Notices cannot: they name the webhooks of all workspaces. */
export const mayHaveWorkspace = (kind: Kind): boolean => kind !== 'notices'

type KindProps = { value: Kind; onChange: (kind: Kind) => void }

export function KindField({ value, onChange }: KindProps) {
  return (
    <NativeSelect
      label="Kind"
      description={descriptionOf(value)}
      data={KINDS}
      value={value}
      // the options are the type's values
      onChange={(event) => onChange(event.currentTarget.value as Kind)}
      maw={420}
    />
  )
}

const descriptionOf = (kind: Kind): string =>
  kind === 'notices'
    ? 'Sluice sends a call when a webhook fails and when it works again. All other calls get 403.'
    : 'Website and mobile calls without an IP address get the address of the client.'
