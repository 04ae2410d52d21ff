import { Button, EmptyState } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Icon, type IconName } from './icon.tsx'

type EmptyProps = {
  icon: IconName
  title: string
  children: ReactNode
  action?: { label: string; to: string }
}

export function Empty({ icon, title, children, action }: EmptyProps) {
  return (
    <EmptyState
      py="xl"
      variant="light"
      icon={<Icon of={icon} size={26} />}
      title={title}
      description={children}
    >
      {action && (
        <EmptyState.Actions>
          <Button component={Link} to={action.to}>
            {action.label}
          </Button>
        </EmptyState.Actions>
      )}
    </EmptyState>
  )
}
