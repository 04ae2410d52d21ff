import { ActionIcon, AppShell, Badge, Box, Burger, Group, Modal, Text } from '@mantine/core'
import { useDisclosure, useHotkeys } from '@mantine/hooks'
import { type ReactNode, useEffect, useRef } from 'react'
import { Link, useLocation } from 'wouter'
import type { Session } from '../api/client/query-client.ts'
import { useSignOut } from '../api/session.ts'
import { ErrorAlert } from '../ui/error-alert.tsx'
import { Icon, Logo } from '../ui/layout/icon.tsx'
import { Navigation } from './navigation.tsx'
import { SchemeToggle } from './scheme-toggle.tsx'
import { StatusBanner } from './status-banner.tsx'

export function Shell({ session, children }: { session: Session; children: ReactNode }) {
  const { opened, toggle, close, burger } = useMenu()
  const main = useFocusOnNavigation(close)
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 232, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding={{ base: 'md', md: 'xl' }}
    >
      <a href="#main" className="skip">
        Skip to content
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="xs" wrap="nowrap">
            <Burger
              ref={burger}
              opened={opened}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={opened ? 'Close the menu' : 'Open the menu'}
              aria-expanded={opened}
            />
            <Home />
          </Group>
          <Group gap="xs" wrap="nowrap">
            {session.person && (
              <Text size="sm" c="dimmed" visibleFrom="sm" truncate maw={260}>
                {session.person}
              </Text>
            )}
            <Role session={session} />
            <SchemeToggle />
            <Account />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" aria-label="Main" className="menu" mod={{ closed: !opened }}>
        <Navigation />
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1} ref={main} style={{ outline: 'none' }}>
        <StatusBanner />
        {children}
      </AppShell.Main>
    </AppShell>
  )
}

/** The menu of narrow screens. */
function useMenu() {
  const [opened, { toggle, close }] = useDisclosure()
  const burger = useRef<HTMLButtonElement>(null)
  function onEscape() {
    if (!opened) return
    close()
    burger.current?.focus()
  }
  useHotkeys([['Escape', onEscape]])
  return { opened, toggle, close, burger }
}

const Home = () => (
  <Box component={Link} to="/" c="inherit" td="none" aria-label="Sluice: go to the start">
    <Group gap={8} wrap="nowrap">
      <Logo />
      <Text fw={700} size="lg">
        Sluice
      </Text>
    </Group>
  </Box>
)

function Role({ session: { who, workspaceId } }: { session: Session }) {
  if (who === 'admin') return null
  const [label, title] =
    who === 'view'
      ? ['View only', 'You cannot make changes']
      : [workspaceId, `You manage the destinations of workspace ${workspaceId}`]
  return (
    <Badge variant="light" color="gray" tt="none" radius="sm" maw={{ base: 110, sm: 400 }} title={title}>
      {label}
    </Badge>
  )
}

/** Focuses the start of a new view, as a page load would, but not of the first. */
function useFocusOnNavigation(onNavigate: () => void) {
  const main = useRef<HTMLElement>(null)
  const [path] = useLocation()
  const view = path.split('/').slice(0, 3).join('/')
  const previous = useRef(view)
  useEffect(() => {
    if (previous.current === view) return
    previous.current = view
    onNavigate()
    main.current?.focus({ preventScroll: true })
    window.scrollTo(0, 0)
  })
  return main
}

function Account() {
  const signOut = useSignOut()
  return (
    <>
      <ActionIcon
        variant="default"
        size="lg"
        onClick={() => signOut.mutate()}
        loading={signOut.isPending}
        aria-label="Sign out"
        title="Sign out"
      >
        <Icon of="out" />
      </ActionIcon>
      <Modal
        opened={signOut.isError}
        onClose={signOut.reset}
        title="You may still be signed in"
        closeButtonProps={{ 'aria-label': 'Close' }}
        centered
      >
        <ErrorAlert error={signOut.error} />
      </Modal>
    </>
  )
}
