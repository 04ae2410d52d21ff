import { Anchor, Group, NavLink, Stack, Text } from '@mantine/core'
import { Link, useLocation } from 'wouter'
import { useSeesAll } from '../api/session.ts'
import { Icon, type IconName } from '../ui/layout/icon.tsx'
import { MayManage } from '../ui/may-manage.tsx'

type Item = { to: string; label: string; icon: IconName; isInWorkspace?: true }

const SECTIONS: readonly { title?: string; items: readonly Item[] }[] = [
  { items: [{ to: '/', label: 'Overview', icon: 'overview' }] },
  {
    title: 'Set up',
    items: [
      { to: '/catalog', label: 'Catalog', icon: 'catalog' },
      { to: '/sources', label: 'Sources', icon: 'sources', isInWorkspace: true },
      { to: '/destinations', label: 'Destinations', icon: 'destinations', isInWorkspace: true },
      { to: '/audiences', label: 'Audiences', icon: 'audiences' },
      { to: '/traits', label: 'Traits', icon: 'traits' },
    ],
  },
  {
    title: 'Monitor',
    items: [
      { to: '/deliveries', label: 'Where is my event?', icon: 'search' },
      { to: '/dead', label: 'Dead letters', icon: 'dead', isInWorkspace: true },
      { to: '/users', label: 'Users', icon: 'users' },
      { to: '/audit', label: 'Audit log', icon: 'audit' },
      { to: '/lag', label: 'Lag', icon: 'lag' },
    ],
  },
]

export function Navigation() {
  const [path] = useLocation()
  const seesAll = useSeesAll()
  const isAt = (to: string) => path === to || (to !== '/' && path.startsWith(`${to}/`))
  return (
    <Stack gap="md">
      {SECTIONS.filter(({ title }) => seesAll || title).map(({ title = '', items }) => (
        <div key={title}>
          {title && (
            <Text size="xs" fw={600} c="dimmed" px="sm" mb={4}>
              {title}
            </Text>
          )}
          {items
            .filter(({ isInWorkspace }) => seesAll || isInWorkspace)
            .map(({ to, label, icon }) => (
              <NavLink
                key={to}
                component={Link}
                to={to}
                label={label}
                leftSection={<Icon of={icon} />}
                active={isAt(to)}
                {...(isAt(to) && { 'aria-current': 'page' as const })}
                variant="light"
                style={{ borderRadius: 'var(--mantine-radius-md)' }}
              />
            ))}
        </div>
      ))}
      <Group gap="md" px="sm">
        <MayManage what="all">
          <Anchor component={Link} to="/backup" size="xs" c="dimmed">
            Backup
          </Anchor>
        </MayManage>
        <Anchor href="/licenses" size="xs" c="dimmed">
          Licenses
        </Anchor>
      </Group>
    </Stack>
  )
}
