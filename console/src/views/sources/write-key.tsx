import { Alert, Button, Code, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { serverNow } from '../../api/client/clock.ts'
import { type Source, useReplaceSource } from '../../api/sources.ts'
import { newKey, urlSafe } from '../../random.ts'
import { ErrorAlert } from '../../ui/error-alert.tsx'
import { Confirm } from '../../ui/form/confirm.tsx'
import { Panel } from '../../ui/layout/page.tsx'
import { Copy } from '../../ui/values/copy.tsx'
import { Timestamp, useNow } from '../../ui/values/time.tsx'
import { AT_ONCE, OVERLAPS, overlapEnd } from '../../wording/format.ts'
import { visible } from '../../wording/visible.ts'

export function WriteKey({ source }: { source: Source }) {
  const [isReplacing, setReplacing] = useState(false)
  const { name, writeKey } = source
  return (
    <Panel
      title="Write key"
      lead="Clients send it with every call. Replace it if it has leaked, or from time to time."
      actions={
        <Button variant="default" size="xs" onClick={() => setReplacing(true)}>
          Replace write key
        </Button>
      }
    >
      <Stack>
        <Group gap="xs">
          <Code fz="sm">{writeKey}</Code>
          <Copy text={writeKey} what={`write key of ${name}`} />
        </Group>
        <Overlap source={source} />
      </Stack>
      {isReplacing && <Replace source={source} onClose={() => setReplacing(false)} />}
    </Panel>
  )
}

function Overlap({ source }: { source: Source }) {
  const end = useReplaceSource(source)
  const now = useNow()
  const { name, previousWriteKey, previousWriteKeyExpiresAt: until } = source
  if (previousWriteKey === undefined || until === undefined || Date.parse(until) <= now) return null
  const endNow = () =>
    end.mutate({ ...source, previousWriteKeyExpiresAt: new Date(serverNow()).toISOString() })
  return (
    <Alert color="blue" title="The previous write key still works">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">
          Calls with <Code>{previousWriteKey}</Code> are accepted until <Timestamp at={until} />. After that
          they are rejected.
        </Text>
        <Button variant="default" size="xs" loading={end.isPending} onClick={endNow}>
          End the previous write key of {visible(name)} now
        </Button>
        <ErrorAlert error={end.error} />
      </Stack>
    </Alert>
  )
}

function Replace({ source, onClose }: { source: Source; onClose: () => void }) {
  const [hours, setHours] = useState('24')
  const replace = useReplaceSource(source)
  const isOverlapping = isInFuture(source.previousWriteKeyExpiresAt)

  function submit() {
    const { previousWriteKey: _, previousWriteKeyExpiresAt: __, ...rest } = source
    const until = overlapEnd(hours, serverNow())
    const overlap = until !== undefined && { previousWriteKeyExpiresAt: until }
    replace.mutate({ ...rest, writeKey: urlSafe(newKey()), ...overlap }, { onSuccess: onClose })
  }

  return (
    <Confirm
      opened
      onClose={onClose}
      title={`Replace the write key of ${source.name}?`}
      action="Replace write key"
      onConfirm={submit}
      loading={replace.isPending}
      error={replace.error}
    >
      <Text size="sm">Sluice makes a new key. Give it to every client before the current one ends.</Text>
      <NativeSelect
        label="Keep accepting the current key"
        value={hours}
        onChange={(event) => setHours(event.currentTarget.value)}
        data={OVERLAPS}
      />
      {hours === AT_ONCE && (
        <Alert color="yellow">Calls of clients with the current key are rejected immediately.</Alert>
      )}
      {isOverlapping && (
        <Alert color="yellow">
          The key before the current one still works. If you replace the key now, it ends immediately.
        </Alert>
      )}
    </Confirm>
  )
}

const isInFuture = (time: string | undefined) => time !== undefined && Date.parse(time) > serverNow()
