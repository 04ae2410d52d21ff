import { type ReactNode, useState } from 'react'
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

/** Of a form: the record that a change is made on, as far as it is known by now. */
export type Opened<T> = {
  /** What is saved over. */
  base: T
  latest: T
  /** Of the form: with another one it begins anew. */
  key: number
  touch(): void
  /** Shows a record as it is, and forgets what was typed. */
  show(record: T): void
  /** What was typed is now a change on the latest. */
  keepMine(): void
}

type OpenedState<T> = { base: T; openedAt: number; isTouched: boolean }

/**
 * A record as it was when its form was opened: once somebody has begun to change the form (`touch`), what is saved elsewhere
 * changes nothing under their hands.
 */
export function useOpened<T extends Versioned>(latest: T): Opened<T> {
  const [state, setState] = useState<OpenedState<T>>({
    base: latest,
    openedAt: latest.version,
    isTouched: false,
  })
  const isHeld = state.isTouched || state.base.version > latest.version
  const base = isHeld ? state.base : latest
  const key = isHeld ? state.openedAt : latest.version
  return {
    base,
    latest,
    key,
    touch() {
      if (!state.isTouched) setState({ base, openedAt: key, isTouched: true })
    },
    show: (record) => setState({ base: record, openedAt: record.version, isTouched: false }),
    keepMine: () => setState({ base: latest, openedAt: key, isTouched: true }),
  }
}
