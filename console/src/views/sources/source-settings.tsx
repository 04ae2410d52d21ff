import { Button, Group, SimpleGrid, Stack, Switch, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { UseQueryResult } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { faultAt } from '../../api/problem.ts'
import { type Source, useRemoveSource, useReplaceSource } from '../../api/sources.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { useOpened } from '../../parts/opened.ts'
import { Panel } from '../../parts/panel.tsx'
import { Refusal } from '../../parts/refusal.tsx'

const SHOWN = ['/name', '/rateLimit/perSecond', '/rateLimit/burst']

export function SourceSettings({
  source,
  refetch,
}: {
  source: Source
  refetch: UseQueryResult<Source>['refetch']
}) {
  const { opened, show, reload, touch } = useOpened(source, refetch)
  const [isSaved, setSaved] = useState(false)
  return (
    <Stack>
      <Form
        key={opened.version}
        source={opened}
        isSaved={isSaved}
        onReload={reload}
        onTouch={touch}
        onSaved={(source) => {
          setSaved(true)
          show(source)
        }}
      />
      <RemoveSource source={opened} />
    </Stack>
  )
}

type Parts = {
  source: Source
  onSaved: (source: Source) => void
  onReload: () => void
  onTouch: () => void
  isSaved: boolean
}

function Form({ source, onSaved, onReload, onTouch, isSaved }: Parts) {
  const [name, setName] = useState(source.name)
  const [enabled, setEnabled] = useState(source.enabled)
  const [perSecond, setPerSecond] = useState(String(source.rateLimit?.perSecond ?? ''))
  const [burst, setBurst] = useState(String(source.rateLimit?.burst ?? ''))
  const replace = useReplaceSource(source)
  function submit(event: FormEvent) {
    event.preventDefault()
    const { writeKey: _, rateLimit: __, ...rest } = source
    const isLimited = perSecond !== '' || burst !== ''
    const rateLimit = { perSecond: Number(perSecond), burst: Number(burst || perSecond) }
    replace.mutate({ ...rest, name, enabled, ...(isLimited && { rateLimit }) }, { onSuccess: onSaved })
  }
  return (
    <Panel title="Settings">
      <form onSubmit={submit} onChangeCapture={onTouch} onClickCapture={onTouch}>
        <Stack>
          <TextInput
            label="Name"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={faultAt(replace.error, '/name')}
            maw={420}
          />
          <Switch
            label="Takes calls"
            description="Off: clients are answered 403, and send again later."
            checked={enabled}
            onChange={(event) => setEnabled(event.currentTarget.checked)}
          />
          <SimpleGrid cols={{ base: 1, xs: 2 }} maw={420}>
            <TextInput
              type="number"
              label="Calls a second"
              description="In the long run; empty: no limit."
              value={perSecond}
              onChange={(event) => setPerSecond(event.currentTarget.value)}
              min={0}
              error={faultAt(replace.error, '/rateLimit/perSecond')}
            />
            <TextInput
              type="number"
              label="At once"
              description="As many may come in a burst."
              value={burst}
              onChange={(event) => setBurst(event.currentTarget.value)}
              min={0}
              error={faultAt(replace.error, '/rateLimit/burst')}
            />
          </SimpleGrid>
          <Refusal error={replace.error} shown={(pointer) => SHOWN.includes(pointer)} onReload={onReload} />
          <Group>
            <Button type="submit" loading={replace.isPending}>
              Save
            </Button>
            <Text size="sm" role="status">
              {isSaved && !replace.isPending && 'Saved'}
            </Text>
          </Group>
        </Stack>
      </form>
    </Panel>
  )
}

function RemoveSource({ source: { id, name } }: { source: Source }) {
  const [opened, { open, close }] = useDisclosure()
  const [, go] = useLocation()
  const remove = useRemoveSource(id)
  return (
    <Panel
      title="Delete this source"
      lead="Its write key stops working at once. What it has sent stays, and is delivered."
      actions={
        <Button color="red" variant="light" onClick={open}>
          Delete source
        </Button>
      }
    >
      <Confirm
        opened={opened}
        onClose={close}
        title={`Delete ${name}?`}
        action={`Delete ${name}`}
        danger
        onConfirm={() => remove.mutate(undefined, { onSuccess: () => go('/sources') })}
        loading={remove.isPending}
        error={remove.error}
      >
        <Text size="sm">
          Clients that send with its write key are refused from then on. This cannot be taken back.
        </Text>
      </Confirm>
    </Panel>
  )
}
