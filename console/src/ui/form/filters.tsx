import { Button, Group, NativeSelect, type NativeSelectProps, TextInput } from '@mantine/core'
import { type FormEvent, type ReactNode, useState } from 'react'
import { MAX_LOCAL_INPUT, toLocalInput } from '../../wording/format.ts'

type FilterBarProps<F> = {
  label: string
  /** The applied one. */
  filter: F
  /** @param values of the fields by name, without empty ones */
  read: (values: URLSearchParams) => F
  onFilter: (filter: F) => void
  /** Whether a text is not applied yet. */
  isTyping: boolean
  onTyping: (isTyping: boolean) => void
  onClear?: (() => void) | undefined
  children: ReactNode
}

/**
 * Choices apply at once, texts on Enter or with the button. They do not apply when a field loses the focus: the list
 * would change under the mouse before it is released, and the click would be lost.
 */
export function FilterBar<F extends object>(props: FilterBarProps<F>) {
  const { label, filter, read, onFilter, isTyping, onTyping, onClear, children } = props
  /** A new key empties all fields: what they show may not be in the filter. */
  const [clears, setClears] = useState(0)
  function apply(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const next = read(valuesOf(event.currentTarget))
    onTyping(!event.currentTarget.checkValidity())
    if (JSON.stringify(next) !== JSON.stringify(filter)) onFilter(next)
  }
  function clear() {
    setClears(clears + 1)
    onTyping(false)
    onClear?.()
    onFilter(read(new URLSearchParams()))
  }
  return (
    <search key={clears} aria-label={label}>
      <form onSubmit={apply} onInput={() => onTyping(true)} noValidate>
        <Group align="flex-start" gap="xs">
          {children}
          <Button type="submit" variant={isTyping ? 'filled' : 'default'} mt={24}>
            Filter
          </Button>
          {(onClear || Object.keys(filter).length > 0) && (
            <Button variant="subtle" mt={24} onClick={clear}>
              Clear
            </Button>
          )}
        </Group>
      </form>
    </search>
  )
}

/** If a text does not match its pattern, the applied value stays. */
function valuesOf(form: HTMLFormElement): URLSearchParams {
  const values = new URLSearchParams()
  for (const field of form.querySelectorAll<HTMLInputElement | HTMLSelectElement>('input, select')) {
    const isRefused = field instanceof HTMLInputElement && field.validity.patternMismatch
    const value = (isRefused ? field.defaultValue : field.value).trim()
    if (value !== '') values.set(field.name, field.name === 'status' ? value.toLowerCase() : value)
  }
  return values
}

type FilterProps = { name: string; label: string; value: string | undefined }

type SelectProps = FilterProps &
  Pick<NativeSelectProps, 'maw'> & {
    /** The choice without a filter. */
    all?: string
    choices: readonly { value: string; label: string }[]
    onChoose?: (value: string) => void
  }

export function SelectFilter({ value = '', onChoose, all = 'All', choices, ...select }: SelectProps) {
  return (
    <NativeSelect
      {...select}
      value={value}
      onChange={(event) => {
        onChoose?.(event.currentTarget.value)
        event.currentTarget.form?.requestSubmit()
      }}
      data={[{ value: '', label: all }, ...choices]}
    />
  )
}

type TextProps = {
  placeholder?: string
  error?: string | undefined
  type?: string
  max?: string
  pattern?: string
  onInvalid?: () => void
  onInput?: () => void
  w?: number
}

export const TextFilter = ({ value = '', ...input }: FilterProps & TextProps) => (
  <TextInput w={148} {...input} defaultValue={value} key={value} autoComplete="off" spellCheck={false} />
)

/** In the browser's zone, to the minute. The value is ISO 8601. */
export const TimeFilter = ({ value, ...named }: FilterProps) => (
  <TextFilter
    {...named}
    type="datetime-local"
    max={MAX_LOCAL_INPUT}
    w={220}
    value={value && toLocalInput(value)}
  />
)

export function StatusFilter({ value }: Pick<FilterProps, 'value'>) {
  const [isWrong, setWrong] = useState(false)
  return (
    <TextFilter
      name="status"
      label="HTTP status"
      placeholder="404 or 5xx"
      pattern="[1-9](\d\d|[xX]{2})"
      error={isWrong ? 'A status such as 404 or 5xx' : undefined}
      onInvalid={() => setWrong(true)}
      onInput={() => setWrong(false)}
      value={value}
    />
  )
}
