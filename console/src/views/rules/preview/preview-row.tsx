import { Box, Collapse, Group, Text, UnstyledButton } from '@mantine/core'
import { useId } from 'react'
import type { PreviewItem } from '../../../api/rules.ts'
import { Chevron } from '../../../ui/layout/icon.tsx'
import { Json } from '../../../ui/values/code.tsx'
import { StateBadge } from '../../../ui/values/state-badge.tsx'
import { Timestamp } from '../../../ui/values/time.tsx'
import { decidingWords } from '../../../wording/conditions.ts'
import { RULES_OUTCOMES } from '../../../wording/states.ts'
import { visible } from '../../../wording/visible.ts'

type RowProps = { item: PreviewItem; rules: unknown; isOpened: boolean; onToggle: () => void }

/** A sent event opens to show its body. */
export function PreviewRow({ item, rules, isOpened, onToggle }: RowProps) {
  const id = useId()
  if (item.body === null)
    return (
      <Box component="li" py={8} px={4} style={LINE}>
        <RowHeader item={item} />
        <Reason item={item} rules={rules} />
      </Box>
    )
  return (
    <Box component="li" style={LINE}>
      <UnstyledButton
        className="row-button"
        onClick={onToggle}
        aria-expanded={isOpened}
        aria-controls={id}
        py={8}
        px={4}
      >
        <Group gap="sm" wrap="nowrap" align="flex-start">
          <RowHeader item={item} />
          <Chevron isOpened={isOpened} />
        </Group>
      </UnstyledButton>
      <Collapse expanded={isOpened} id={id}>
        <Box pb="sm">{isOpened && <Json value={item.body} label={`Body of ${nameOf(item)}`} />}</Box>
      </Collapse>
    </Box>
  )
}

const LINE = { borderTop: '1px solid var(--sluice-line)' }

const nameOf = ({ type, event }: PreviewItem): string => (event === null ? type : `${type} “${event}”`)

function RowHeader({ item }: { item: PreviewItem }) {
  return (
    <Group gap="xs" flex={1} miw={0}>
      <StateBadge {...RULES_OUTCOMES[item.outcome]} />
      <Text size="sm" fw={600} className="in-flow">
        {visible(nameOf(item))}
      </Text>
      <Text size="xs" c="dimmed">
        <Timestamp at={item.receivedAt} short />
      </Text>
    </Group>
  )
}

function Reason({ item: { condition, message }, rules }: Pick<RowProps, 'item' | 'rules'>) {
  const words = message ?? (condition === null ? undefined : decidingWords(rules, condition))
  if (words === undefined) return null
  return (
    <Text size="xs" c="dimmed" mt={4} className="in-flow">
      {visible(words)}
    </Text>
  )
}
