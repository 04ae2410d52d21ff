import { Checkbox, Stack, Text } from '@mantine/core'
import type { Source } from '../../api/sources.ts'
import { FilteredList } from '../../ui/layout/filtered-list.tsx'
import { visible } from '../../wording/visible.ts'

export function ChooseSources({
  sources,
  chosen,
  onChange,
  error,
}: {
  sources: readonly Source[]
  chosen: readonly string[]
  onChange: (ids: string[]) => void
  error: string | undefined
}) {
  return (
    <Checkbox.Group label="Sources" value={[...chosen]} onChange={onChange} error={error}>
      <Stack gap={6} mt={6}>
        <FilteredList all={sources} what="sources" textOf={({ id, name }) => `${name} ${id}`}>
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
  )
}
