import { useState } from 'react'

/**
 * A record as it was when its form was opened: once somebody has begun to change the form (`touch`), what is saved elsewhere
 * changes nothing under their hands. The form is keyed by its version. @param refetch reads it anew.
 */
export function useOpened<T extends { version: number }>(
  latest: T,
  refetch: () => Promise<{ data: T | undefined }>,
) {
  const [opened, setOpened] = useState(latest)
  const [isTouched, setTouched] = useState(false)

  function show(record: T): void {
    setTouched(false)
    setOpened(record)
  }

  async function reload(): Promise<void> {
    const { data } = await refetch()
    if (data) show(data)
  }

  const current = isTouched || opened.version > latest.version ? opened : latest

  function touch(): void {
    if (isTouched) return
    setOpened(current)
    setTouched(true)
  }

  return { opened: current, show, reload: () => void reload(), touch }
}
