import { Badge } from '@mantine/core'
import { PAUSED } from '../../wording/states.ts'
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

/** `paused`: only destinations can be paused. */
export function OnOffBadge({ enabled, paused }: { enabled: boolean; paused?: boolean | undefined }) {
  if (!enabled) return <StateBadge label="Off" color="gray" />
  return paused ? <StateBadge {...PAUSED} /> : <StateBadge label="On" color="green" />
}
