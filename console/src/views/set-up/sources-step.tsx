import { Alert, Box, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { fieldError, withoutCorrected } from '../../api/client/errors.ts'
import { useMayManage } from '../../api/session.ts'
import { useCreateSource, useSources } from '../../api/sources.ts'
import { ErrorAlert } from '../../ui/error-alert.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { STEPS } from '../destinations/set-up-progress.ts'
import { ChooseSources } from '../sources/choose-sources.tsx'
import { type Kind, KindField } from '../sources/kind-field.tsx'
import type { SetUp } from './use-set-up.ts'

export function SourcesStep({ setUp: { draft, change, goTo, error, destination } }: { setUp: SetUp }) {
  const query = useSources()
  const [isMissing, setMissing] = useState(false)
  const mayCreate = useMayManage('all')
  return (
    <Loaded query={query}>
      {(sources) => {
        // preselects the only source
        const chosen = draft.sourceIds ?? (sources.length === 1 ? sources.map(({ id }) => id) : [])
        const choose = (sourceIds: readonly string[]) => change({ sourceIds })
        const next = () => {
          choose(chosen)
          setMissing(chosen.length === 0)
          if (chosen.length > 0) goTo(STEPS.webhooks)
        }
        return (
          <Stack>
            {sources.length === 0 ? (
              <Text size="sm">
                You have no sources yet.{' '}
                {mayCreate ? 'Enter a name to create one.' : 'Ask an administrator to create one.'}
              </Text>
            ) : (
              <ChooseSources
                sources={sources}
                chosen={chosen}
                workspaceId={draft.workspaceId}
                saved={destination}
                onChange={change}
                error={error}
              />
            )}
            {mayCreate && (
              <QuickSource
                onCreated={(id) => choose([...chosen, id])}
                isFirst={sources.length === 0}
                workspaceId={draft.workspaceId}
              />
            )}
            {isMissing && chosen.length === 0 && (
              <Alert color="yellow" role="alert">
                Choose at least one source. Without one, the destination receives nothing.
              </Alert>
            )}
            <Group justify="flex-end">
              <Button onClick={next}>Next: URLs</Button>
            </Group>
          </Stack>
        )
      }}
    </Loaded>
  )
}

type QuickSourceProps = {
  onCreated: (id: string) => void
  isFirst: boolean
  workspaceId: string | undefined
}

function QuickSource({ onCreated, isFirst, workspaceId }: QuickSourceProps) {
  const [name, setName] = useState('')
  const [kind, setKind] = useState<Kind>('server')
  const create = useCreateSource()
  const { error } = withoutCorrected(create, { name })
  function submit(event: FormEvent) {
    event.preventDefault()
    create.mutate(
      { name, ...(kind !== 'server' && { kind }), ...(workspaceId !== undefined && { workspaceId }) },
      {
        onSuccess({ id }) {
          onCreated(id)
          setName('')
        },
      },
    )
  }
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" gap="xs">
        <TextInput
          label={isFirst ? 'Source name' : 'Or create a new source'}
          placeholder="Shop"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={fieldError(error, '/name')}
        />
        <Box flex="1 1 260px">
          <KindField value={kind} onChange={setKind} />
        </Box>
        <Button type="submit" variant={isFirst ? 'filled' : 'default'} loading={create.isPending}>
          Create source
        </Button>
      </Group>
      <ErrorAlert error={error} shown={(pointer) => pointer === '/name'} />
    </form>
  )
}
