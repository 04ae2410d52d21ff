import { useReducer } from 'react'
import { type Freshness, heard, NOTHING } from './heard.ts'
import { useStream } from './stream.ts'

/** A stream of what is so, each thing whenever it has changed. */
export function useBroadcast<T>(url: string): { told: Partial<T>; freshness: Freshness } {
  const [{ told, away, toldAt }, tell] = useReducer(heard<T>, NOTHING)
  const state = useStream(url, (name, data) => tell({ name, data, at: new Date().toISOString() }))
  return { told, freshness: { state, isAway: away.length > 0, toldAt } }
}
