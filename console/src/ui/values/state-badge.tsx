import { Badge, Tooltip } from '@mantine/core'

/** A state in a word; what it means where the pointer or the focus rests. */
export function State({ label, color, says }: { label: string; color: string; says?: string | undefined }) {
  const badge = (
    <Badge
      color={color}
      variant="light"
      tt="none"
      fw={600}
      radius="sm"
      miw="max-content"
      {...(says && { tabIndex: 0 })}
    >
      {label}
    </Badge>
  )
  if (!says) return badge
  return (
    <Tooltip label={says} multiline maw={320} withArrow events={{ hover: true, focus: true, touch: true }}>
      {badge}
    </Tooltip>
  )
}

/** Of sources and destinations. */
export function OnOffState({ enabled }: { enabled: boolean }) {
  return enabled ? <State label="On" color="green" /> : <State label="Off" color="gray" />
}
