import { TextInput } from '@mantine/core'
import { perSecondOf } from './requests.ts'

export function PerSecond({ value, onChange }: { value: string; onChange: (typed: string) => void }) {
  return (
    <TextInput
      type="number"
      label="At most a second"
      description="So that the receiver is not flooded."
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={perSecondOf(value) === undefined && 'from 1 to 10,000'}
      min={1}
      max={10_000}
      maw={220}
    />
  )
}
