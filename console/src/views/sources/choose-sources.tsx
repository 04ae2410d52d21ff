import { Checkbox, Stack, Text } from '@mantine/core'
import { fieldError } from '../../api/client/errors.ts'
import type { Destination } from '../../api/destinations.ts'
import type { Source } from '../../api/sources.ts'
import { FilteredList } from '../../ui/layout/filtered-list.tsx'
import { visible } from '../../wording/visible.ts'
import { WorkspaceSelect } from '../workspaces.tsx'

type Choice = { sourceIds: string[]; workspaceId: string | undefined }

export function ChooseSources({
  sources,
  chosen,
  workspaceId,
  saved,
  onChange,
  error,
}: {
  sources: readonly Source[]
  chosen: readonly string[]
  workspaceId: string | undefined
  /** Undefined for a new destination. */
  saved: Pick<Destination, 'workspaceId'> | undefined
  onChange: (changed: Partial<Choice>) => void
  error: unknown
}) {
  const offered = offeredIn(workspaceId, sources)
  function move(workspaceId: string | undefined) {
    const ids = offeredIn(workspaceId, sources).map(({ id }) => id)
    onChange({ workspaceId, sourceIds: ids.filter((id) => chosen.includes(id)) })
  }
  return (
    <>
      <WorkspaceSelect
        sources={sources}
        value={workspaceId}
        onChange={move}
        isFixed={saved?.workspaceId !== undefined}
      />
      <Checkbox.Group
        label="Sources"
        value={[...chosen]}
        onChange={(sourceIds) => onChange({ sourceIds })}
        error={fieldError(error, '/sourceIds')}
      >
        <Stack gap={6} mt={6}>
          <FilteredList all={offered} what="sources" textOf={({ id, name }) => `${name} ${id}`}>
            {(shown) =>
              shown.map(({ id, name }) => (
                <Checkbox
                  key={id}
                  value={id}
                  className="in-flow"
                  label={
                    <>
                      {visible(name)}{' '}
                      <Text span size="xs" c="dimmed" ff="monospace">
                        {id}
                      </Text>
                    </>
                  }
                />
              ))
            }
          </FilteredList>
        </Stack>
      </Checkbox.Group>
    </>
  )
}

/** A destination without a workspace may have any source. */
const offeredIn = (workspaceId: string | undefined, sources: readonly Source[]) =>
  workspaceId === undefined ? sources : sources.filter((source) => source.workspaceId === workspaceId)
