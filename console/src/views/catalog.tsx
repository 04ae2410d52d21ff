import { Badge, Button, Group, Paper, SimpleGrid, Text, ThemeIcon, Title } from '@mantine/core'
import { Link } from 'wouter'
import { useDestinations } from '../api/destinations.ts'
import { Icon } from '../ui/layout/icon.tsx'
import { Page } from '../ui/layout/page.tsx'
import { MayManage } from '../ui/may-manage.tsx'
import { formatInteger } from '../wording/format.ts'
import { LIMITS } from '../wording/limits.ts'

export default function Catalog() {
  const count = useDestinations().data?.length ?? 0
  return (
    <Page title="Catalog" lead="Choose where to send events, then connect your sources.">
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
        <Paper withBorder p="lg">
          <Group justify="space-between" mb="xs" wrap="nowrap">
            <Group gap="sm" wrap="nowrap">
              <WebhookMark />
              <Title order={2} size="h4">
                Webhooks
              </Title>
            </Group>
            {count > 0 && (
              <Badge variant="light" tt="none" radius="sm">
                {`${formatInteger(count)} set up`}
              </Badge>
            )}
          </Group>
          <Text size="sm" c="dimmed" mb="md">
            Sends each event to your URLs as a signed HTTP POST with a JSON body, within milliseconds. Failed
            requests are retried{LIMITS.retryFor}.
          </Text>
          <Text size="xs" c="dimmed" mb="md">
            Accepts identify, track, page, screen, group and alias calls from any source.
          </Text>
          <MayManage what="destinations">
            <Button component={Link} to="/catalog/webhooks" fullWidth>
              Set up Webhooks
            </Button>
          </MayManage>
        </Paper>
      </SimpleGrid>
    </Page>
  )
}

function WebhookMark() {
  return (
    <ThemeIcon variant="light" size={40}>
      <Icon of="destinations" size={24} />
    </ThemeIcon>
  )
}
