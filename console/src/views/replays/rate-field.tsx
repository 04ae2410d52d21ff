import { TextInput } from '@mantine/core'
import { parseRate } from './requests.ts'

export function RateField({ value, onChange }: { value: string; onChange: (typed: string) => void }) {
  return (
    <TextInput
      type="number"
      label="Max. deliveries/s"
      description="Protects the receiver from bursts."
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={parseRate(value) === undefined && 'Enter a number from 1 to 10,000'}
      min={1}
      max={10_000}
      maw={220}
    />
  )
}
