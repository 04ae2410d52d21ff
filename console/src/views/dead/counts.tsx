import { Button, Group, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { DeadCount, DeadFilter } from '../../api/dead.ts'
import { useDestinationNames } from '../../parts/names.tsx'
import { counted, whole } from '../../parts/number.ts'
import { reasonOf } from '../../parts/words/outcomes.ts'
import { REASONS } from './filter.ts'

type CountsParts = {
  counts: readonly DeadCount[]
  isPartial: boolean
  filter: DeadFilter
  onFilter: (filter: DeadFilter) => void
}

const FEW = 12

/** How many there are of each destination and reason, the most first; one chosen shows those alone. */
export function Counts({ counts, isPartial, filter, onFilter }: CountsParts) {
  const nameOf = useDestinationNames()
  const [isAll, { toggle }] = useDisclosure()
  return (
    <div>
      <Group gap="xs">
        {counts.slice(0, isAll ? counts.length : FEW).map(({ destinationId, reason, count }) => {
          const isChosen = filter.destinationId === destinationId && filter.reason === reason
          const known = REASONS.find((one) => one === reason)
          return (
            <Button
              key={`${destinationId} ${reason}`}
              size="compact-md"
              h="auto"
              mih={30}
              py={4}
              styles={{ label: { whiteSpace: 'normal', lineHeight: 1.3 } }}
              variant={isChosen ? 'filled' : 'default'}
              aria-pressed={isChosen}
              onClick={() => onFilter(isChosen ? {} : { destinationId, ...(known && { reason: known }) })}
            >
              <span>
                <b>{whole(count)}</b>&nbsp;{nameOf(destinationId)}: {reasonOf(reason).label.toLowerCase()}
              </span>
            </Button>
          )
        })}
        {counts.length > FEW && (
          <Button variant="subtle" size="compact-sm" onClick={toggle} aria-expanded={isAll}>
            {isAll ? 'Show fewer' : counted(counts.length - FEW, 'more', 'more')}
          </Button>
        )}
      </Group>
      {isPartial && (
        <Text size="sm" c="dimmed" mt={4}>
          Of the last 100,000: there are more.
        </Text>
      )}
    </div>
  )
}
