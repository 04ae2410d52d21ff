import { Button } from '@mantine/core'
import { useState } from 'react'
import { useDestinations } from '../../api/destinations.ts'
import type { NamedReplay, NewReplay } from '../../api/replays.ts'
import { ReplayDialog } from './replay-dialog.tsx'
import { type LeftOut, newReplayId, possible } from './wanted.ts'

type ReplayParts = {
  label: string
  /** For screen readers, where several have the same label. */
  name?: string
  /** Asked for when the button is used: of "the last hour" it is the one before that. */
  wanted: () => readonly NewReplay[]
  /** What is sent again, in words. */
  what: string
  disabled?: boolean
  onBegun?: () => void
}

/** Asks, and begins a replay for each destination. */
export function ReplayButton({ label, name, wanted, what, disabled = false, onBegun }: ReplayParts) {
  const destinations = useDestinations().data
  const [asked, setAsked] = useState<{ all: NamedReplay[]; leftOut: LeftOut[] }>()
  const [isBegun, setBegun] = useState(false)
  function ask() {
    const { wanted: all, leftOut } = possible(wanted(), destinations)
    // of one question, however often it is answered, comes one replay
    setAsked({ all: all.map((one) => ({ ...one, id: newReplayId() })), leftOut })
  }
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        onClick={ask}
        disabled={disabled}
        aria-label={name === undefined ? undefined : isBegun ? `${name} again: it has begun` : name}
      >
        {isBegun ? 'Begun' : label}
      </Button>
      {asked && (
        <ReplayDialog
          {...asked}
          what={what}
          onClose={() => setAsked(undefined)}
          onBegun={() => {
            setAsked(undefined)
            setBegun(name !== undefined)
            onBegun?.()
          }}
        />
      )}
    </>
  )
}
