import { ThemeIcon } from '@mantine/core'
import { Icon } from '../../parts/icon.tsx'

export function WebhookMark() {
  return (
    <ThemeIcon variant="light" size={40}>
      <Icon of="destinations" size={24} />
    </ThemeIcon>
  )
}
