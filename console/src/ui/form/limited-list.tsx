import { Button, type ButtonProps } from '@mantine/core'
import { type RefObject, useRef, useState } from 'react'
import { Icon } from '../layout/icon.tsx'

type Options<T> = {
  items: readonly T[]
  most: number
  make: () => T
  onChange: (items: readonly T[]) => void
}

export type LimitedList<T> = {
  addButton: RefObject<HTMLButtonElement | null>
  /** The user tried to exceed the limit. */
  isTooMany: boolean
  add(): void
  /** @param item undefined removes it. */
  change(key: number, item: T | undefined): void
}

export function useLimitedList<T extends { key: number }>(options: Options<T>): LimitedList<T> {
  const { items, most, make, onChange } = options
  const [isTooMany, setTooMany] = useState(false)
  const addButton = useRef<HTMLButtonElement>(null)
  return {
    addButton,
    isTooMany,
    add() {
      if (items.length >= most) setTooMany(true)
      else onChange([...items, make()])
    },
    change(key, item) {
      if (!item) {
        setTooMany(false)
        // the removed field had the focus
        addButton.current?.focus()
      }
      onChange(items.flatMap((each) => (each.key === key ? (item ?? []) : each)))
    },
  }
}

type AddProps = Pick<ButtonProps, 'variant' | 'size'> & {
  list: { add(): void; addButton: RefObject<HTMLButtonElement | null> }
  children: string
}

export const AddButton = ({
  list: { add, addButton },
  variant = 'subtle',
  size = 'compact-sm',
  children,
}: AddProps) => (
  <div>
    <Button
      ref={addButton}
      variant={variant}
      size={size}
      leftSection={<Icon of="plus" size={14} />}
      onClick={add}
    >
      {children}
    </Button>
  </div>
)

/** @param label for screen readers, such as "Remove URL 2". */
export const RemoveButton = ({ label, onClick }: { label: string; onClick: () => void }) => (
  <Button variant="subtle" color="gray" px="xs" onClick={onClick} aria-label={label}>
    <Icon of="cross" size={16} />
  </Button>
)
