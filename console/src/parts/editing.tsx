import { type ReactNode, useState } from 'react'
import { type Opened, useOpened } from './opened.ts'
import { useUnsaved } from './unsaved.ts'

type Versioned = { version: number }

/** How far the editing of a record is: what its form has to know of it. */
export type FormState = {
  opened: Pick<Opened<Versioned>, 'base' | 'latest' | 'keepMine'>
  isSaved: boolean
  /** Something was used, or changed. */
  onTouch: () => void
  onChange: () => void
  /** Shows the record as it is now. */
  onShow: () => void
}

/** What the form of a record is given: it begins with `base`, and saves over that. */
export type Edited<T> = { base: T; onSaved: (saved: T) => void; form: FormState }

type EditingParts<T> = { latest: T; children: (edited: Edited<T>, key: number) => ReactNode }

/** The form of a record, begun anew when it shows another version. */
export function Editing<T extends Versioned>({ latest, children }: EditingParts<T>) {
  const opened = useOpened(latest)
  const [isSaved, setSaved] = useState(false)
  const [isChanged, setChanged] = useState(false)
  useUnsaved(isChanged)

  function show(record: T, isOwn: boolean): void {
    opened.show(record)
    setSaved(isOwn)
    setChanged(false)
  }

  function touch(): void {
    opened.touch()
    setSaved(false)
  }

  const form: FormState = {
    opened,
    isSaved,
    onTouch: touch,
    onChange() {
      touch()
      setChanged(true)
    },
    onShow: () => show(latest, false),
  }
  return <>{children({ base: opened.base, onSaved: (saved) => show(saved, true), form }, opened.key)}</>
}
