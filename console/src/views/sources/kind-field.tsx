import { NativeSelect } from '@mantine/core'
import type { Source } from '../../api/sources.ts'

export type Kind = NonNullable<Source['kind']>

const KINDS = [
  { value: 'server', label: 'Server' },
  { value: 'web', label: 'Website' },
  { value: 'mobile', label: 'Mobile app' },
]

type Props = { value: Kind; onChange: (kind: Kind) => void; isBrief?: boolean }

/** What sends the calls of a source. `isBrief`: without a description. */
export function KindField({ value, onChange, isBrief = false }: Props) {
  return (
    <NativeSelect
      label="Kind"
      description={
        isBrief ? undefined : 'Calls from a website or an app get the client’s IP address if they have none.'
      }
      data={KINDS}
      value={value}
      // its options are the kinds
      onChange={(event) => onChange(event.currentTarget.value as Kind)}
      maw={420}
    />
  )
}
