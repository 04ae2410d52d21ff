import { type ReactNode, useState } from 'react'
import { useUnsaved } from './unsaved.ts'

type Versioned = { version: number }

export type FormState = {
  edit: Pick<EditBase<Versioned>, 'base' | 'latest' | 'keepMine'>
  isSaved: boolean
  /** On a click or input. */
  onTouch: () => void
  onChange: () => void
  onShow: () => void
}

export type Edited<T> = { base: T; onSaved: (saved: T) => void; form: FormState }

type EditingProps<T> = { latest: T; children: (edited: Edited<T>, key: number) => ReactNode }

/** Keys a record's form: it starts over for another version. */
export function Editing<T extends Versioned>({ latest, children }: EditingProps<T>) {
  const edit = useEditBase(latest)
  const [isSaved, setSaved] = useState(false)
  const [isChanged, setChanged] = useState(false)
  useUnsaved(isChanged)

  function show(record: T, isSavedHere: boolean): void {
    edit.show(record)
    setSaved(isSavedHere)
    setChanged(false)
  }

  function touch(): void {
    edit.touch()
    setSaved(false)
  }

  const form: FormState = {
    edit,
    isSaved,
    onTouch: touch,
    onChange() {
      touch()
      setChanged(true)
    },
    onShow: () => show(latest, false),
  }
  return <>{children({ base: edit.base, onSaved: (saved) => show(saved, true), form }, edit.key)}</>
}

export type EditBase<T> = {
  /** The version to replace. */
  base: T
  latest: T
  /** A new React key starts the form over. */
  key: number
  touch(): void
  show(record: T): void
  /** Bases the edit on the latest version. */
  keepMine(): void
}

type EditState<T> = { base: T; startVersion: number; isTouched: boolean }

/** Follows the latest version until the user touches the form. */
function useEditBase<T extends Versioned>(latest: T): EditBase<T> {
  const [state, setState] = useState<EditState<T>>({
    base: latest,
    startVersion: latest.version,
    isTouched: false,
  })
  const isPinned = state.isTouched || state.base.version > latest.version
  const base = isPinned ? state.base : latest
  const key = isPinned ? state.startVersion : latest.version
  return {
    base,
    latest,
    key,
    touch() {
      if (!state.isTouched) setState({ base, startVersion: key, isTouched: true })
    },
    show: (record) => setState({ base: record, startVersion: record.version, isTouched: false }),
    keepMine: () => setState({ base: latest, startVersion: key, isTouched: true }),
  }
}
