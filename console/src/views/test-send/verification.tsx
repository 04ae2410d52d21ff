import { Anchor, Box, Code, Tabs, Text, Title } from '@mantine/core'
import { Link } from 'wouter'
import type { Destination } from '../../api/destinations.ts'
import { Snippet } from '../../ui/values/code.tsx'
import { snippetsOf } from './verification-snippets.ts'

export function Verification({ destination }: { destination: Destination }) {
  const { id, sharedSecret, standardWebhooks = false } = destination
  return (
    <Box component="section" aria-labelledby="verification">
      <Title order={3} size="h5" id="verification">
        Verify it at your receiver
      </Title>
      {sharedSecret === undefined ? (
        <Text size="sm" c="dimmed">
          This destination has no secret, so its requests are not signed.{' '}
          <Anchor component={Link} to={`/destinations/${id}/secret`} size="sm">
            Set a secret
          </Anchor>
        </Text>
      ) : (
        <>
          <Text size="sm" c="dimmed" mb="xs" maw={720}>
            {standardWebhooks ? (
              <>
                Checks <Code>webhook-signature</Code> of Standard Webhooks: HMAC-SHA256 of the id, the time
                and the body.
              </>
            ) : (
              <>
                Checks <Code>X-Signature</Code>: HMAC-SHA1 of the body.
              </>
            )}{' '}
            Pass it the bytes as they were received. It also accepts the previous secret while you replace the
            secret.
          </Text>
          <Snippets isStandard={standardWebhooks} />
        </>
      )}
    </Box>
  )
}

function Snippets({ isStandard }: { isStandard: boolean }) {
  return (
    <Tabs defaultValue="Node" variant="outline" keepMounted={false}>
      <Tabs.List aria-label="Language">
        {LANGUAGES.map((language) => (
          <Tabs.Tab key={language} value={language}>
            {language}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippetsOf(isStandard).map(({ language, code }) => (
        <Tabs.Panel key={language} value={language} pt="sm">
          <Snippet code={code} what={`${language} verification snippet`} />
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}

const LANGUAGES = snippetsOf(true).map(({ language }) => language)
