import { Button, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { type NewReplay, useCreateReplays } from '../../api/replays.ts'
import { Confirm } from '../../parts/confirm.tsx'

type ReplayParts = {
  label: string
  /** For screen readers, where several have the same label. */
  name?: string
  wanted: readonly NewReplay[]
  /** What is sent again, in words. */
  what: string
  onBegun?: () => void
}

/** Asks, and begins a replay for each destination. */
export function ReplayButton({ label, name, wanted, what, onBegun }: ReplayParts) {
  const [opened, { open, close }] = useDisclosure()
  const [perSecond, setPerSecond] = useState('500')
  const create = useCreateReplays()
  const ids = wanted.flatMap(({ deliveryIds }) => deliveryIds ?? [])
  const isOne = ids.length === 1
  function begin() {
    const asked = wanted.map((one) => ({ ...one, perSecond: Number(perSecond) || 500 }))
    create.mutate(asked, {
      onSuccess() {
        close()
        onBegun?.()
      },
    })
  }
  return (
    <>
      <Button
        size="compact-sm"
        variant={isOne ? 'default' : 'light'}
        onClick={isOne ? begin : open}
        loading={isOne && create.isPending}
        disabled={wanted.length === 0}
        aria-label={name}
      >
        {isOne && create.isSuccess ? 'Sent again' : label}
      </Button>
      <Confirm
        opened={opened || (isOne && create.error !== null)}
        onClose={() => {
          close()
          create.reset()
        }}
        title="Replay dead letters"
        action="Replay"
        onConfirm={begin}
        loading={create.isPending}
        error={create.error}
      >
        <Text size="sm">
          Sends {what} again to {[...new Set(wanted.map(({ destinationId }) => destinationId))].join(', ')},
          with the same X-Delivery-Id as before and X-Replay: true. They stay among the dead letters: replayed
          twice, they are sent twice.
        </Text>
        {!isOne && (
          <TextInput
            type="number"
            label="At most a second"
            description="So that the receiver is not flooded."
            value={perSecond}
            onChange={(event) => setPerSecond(event.currentTarget.value)}
            min={1}
            max={10_000}
            maw={220}
          />
        )}
      </Confirm>
    </>
  )
}
