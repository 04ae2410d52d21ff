import { NativeSelect, type NativeSelectProps, TextInput } from '@mantine/core'
import { useState } from 'react'
import { fromLocalInput, MAX_LOCAL_INPUT, toLocalInput } from '../../wording/format.ts'

type FilterProps = { value: string | undefined; onChange: (value: string | undefined) => void }

type SelectProps = FilterProps &
  Pick<NativeSelectProps, 'maw'> & {
    label: string
    /** The choice without a filter. */
    all?: string
    choices: readonly { value: string; label: string }[]
  }

export function SelectFilter({ value = '', onChange, all = 'All', choices, ...select }: SelectProps) {
  return (
    <NativeSelect
      {...select}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value || undefined)}
      data={[{ value: '', label: all }, ...choices]}
    />
  )
}

/** Applies on Enter or when the field loses the focus. */
export function TextFilter({ label, value = '', onChange, ...input }: FilterProps & TextProps) {
  return (
    <TextInput
      w={148}
      {...input}
      label={label}
      defaultValue={value}
      key={value}
      autoComplete="off"
      spellCheck={false}
      onBlur={(event) => {
        const typed = event.currentTarget.value.trim()
        if (typed !== value) onChange(typed || undefined)
      }}
      onKeyDown={(event) => event.key === 'Enter' && event.currentTarget.blur()}
    />
  )
}

type TextProps = {
  label: string
  placeholder?: string
  error?: string | undefined
  type?: string
  max?: string
  w?: number
}

/** In the browser's zone, to the minute. The value is ISO 8601. */
export const TimeFilter = ({ label, value, onChange }: FilterProps & { label: string }) => (
  <TextFilter
    label={label}
    type="datetime-local"
    max={MAX_LOCAL_INPUT}
    w={220}
    value={value && toLocalInput(value)}
    onChange={(typed) => onChange(typed && fromLocalInput(typed))}
  />
)

const STATUS = /^[1-9](?:\d\d|xx)$/

export function StatusFilter({ value, onChange }: FilterProps) {
  const [isWrong, setWrong] = useState(false)
  function change(typed: string | undefined) {
    const status = typed?.toLowerCase()
    setWrong(status !== undefined && !STATUS.test(status))
    if (status === undefined || STATUS.test(status)) onChange(status)
  }
  return (
    <TextFilter
      label="HTTP status"
      placeholder="404 or 5xx"
      error={isWrong ? 'A status such as 404 or 5xx' : undefined}
      value={value}
      onChange={change}
    />
  )
}
