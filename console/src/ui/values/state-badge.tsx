import { Badge } from '@mantine/core'
import { useTooltip } from './tooltip.tsx'

type BadgeProps = { label: string; color: string; explanation?: string | undefined }

/** The tooltip takes the focus: omit the explanation inside buttons. */
export function StateBadge({ label, color, explanation }: BadgeProps) {
  const { target, tip } = useTooltip(explanation)
  return (
    <>
      <Badge color={color} variant="light" tt="none" fw={600} radius="sm" miw="max-content" {...target}>
        {label}
      </Badge>
      {tip}
    </>
  )
}

export function OnOffBadge({ enabled }: { enabled: boolean }) {
  return enabled ? <StateBadge label="On" color="green" /> : <StateBadge label="Off" color="gray" />
}
