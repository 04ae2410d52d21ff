import { Anchor } from '@mantine/core'
import { Link } from 'wouter'
import { useSeesAll } from '../../api/session.ts'
import { visible } from '../../wording/visible.ts'

type EventLinkProps = { messageId: string; children?: string; size?: string }

/** Links to the event search; plain text for those who cannot use it. */
export function EventLink({ messageId, children = messageId, size = 'sm' }: EventLinkProps) {
  if (!useSeesAll()) return visible(children)
  return (
    <Anchor
      component={Link}
      to={`/deliveries?messageId=${encodeURIComponent(messageId)}`}
      size={size}
      underline="always"
    >
      {visible(children)}
    </Anchor>
  )
}
