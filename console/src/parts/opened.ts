import { useState } from 'react'

type Versioned = { version: number }

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

type State<T> = { base: T; openedAt: number; isTouched: boolean }

/**
 * A record as it was when its form was opened: once somebody has begun to change the form (`touch`), what is saved elsewhere
 * changes nothing under their hands.
 */
export function useOpened<T extends Versioned>(latest: T): Opened<T> {
  const [state, setState] = useState<State<T>>({ base: latest, openedAt: latest.version, isTouched: false })
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
