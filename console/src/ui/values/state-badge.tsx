import { Badge, Tooltip } from '@mantine/core'

/**
 * A state in one word, with its explanation as a tooltip. Leave the explanation out inside buttons: it takes the focus.
 */
export function StateBadge({
  label,
  color,
  explanation,
}: {
  label: string
  color: string
  explanation?: string | undefined
}) {
  const badge = (
    <Badge
      color={color}
      variant="light"
      tt="none"
      fw={600}
      radius="sm"
      miw="max-content"
      {...(explanation && { tabIndex: 0 })}
    >
      {label}
    </Badge>
  )
  if (!explanation) return badge
  return (
    <Tooltip
      label={explanation}
      multiline
      maw={320}
      withArrow
      events={{ hover: true, focus: true, touch: true }}
    >
      {badge}
    </Tooltip>
  )
}

export function OnOffBadge({ enabled }: { enabled: boolean }) {
  return enabled ? <StateBadge label="On" color="green" /> : <StateBadge label="Off" color="gray" />
}
