import { Paper } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'

type StepParts = { title: string; hasMoved: boolean; children: ReactNode }

/**
 * A step takes the focus when it comes, so that it is said, and the keyboard goes on from its beginning. @param hasMoved false: it
 * came with the page, which says so itself.
 */
export function Step({ title, hasMoved, children }: StepParts) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (hasMoved) place.current?.focus({ preventScroll: true })
  }, [hasMoved])
  return (
    <Paper
      withBorder
      p="lg"
      mt="sm"
      ref={place}
      tabIndex={-1}
      role="group"
      aria-label={`Step: ${title}`}
      style={{ outline: 'none' }}
    >
      {children}
    </Paper>
  )
}
