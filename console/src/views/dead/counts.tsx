import { Button, Group, Text } from '@mantine/core'
import type { DeadFilter } from '../../api/dead.ts'
import { whole } from '../../parts/number.ts'
import { reasonOf } from '../../parts/words/outcomes.ts'
import { REASONS } from './use-filter.ts'

type CountsParts = {
  counts: readonly { destinationId: string; reason: string; count: number }[]
  isPartial: boolean
  filter: DeadFilter
  onFilter: (filter: DeadFilter) => void
}

/** How many there are of each destination and reason; one chosen shows those alone. */
export function Counts({ counts, isPartial, filter, onFilter }: CountsParts) {
  return (
    <div>
      <Group gap="xs">
        {counts.map(({ destinationId, reason, count }) => {
          const isChosen = filter.destinationId === destinationId && filter.reason === reason
          const known = REASONS.find((one) => one === reason)
          return (
            <Button
              key={`${destinationId} ${reason}`}
              size="compact-md"
              variant={isChosen ? 'filled' : 'default'}
              aria-pressed={isChosen}
              onClick={() => onFilter(isChosen ? {} : { destinationId, ...(known && { reason: known }) })}
            >
              <b>{whole(count)}</b>&nbsp;{destinationId}: {reasonOf(reason).label.toLowerCase()}
            </Button>
          )
        })}
      </Group>
      {isPartial && (
        <Text size="sm" c="dimmed" mt={4}>
          Of the last 100,000: there are more.
        </Text>
      )}
    </div>
  )
}
