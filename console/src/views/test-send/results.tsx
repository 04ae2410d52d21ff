import { Alert, Box, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import type { Destination, TestedRules, TestResult } from '../../api/destinations.ts'
import { Outcome } from '../../ui/attempts/attempt-table.tsx'
import { ScrollingCode } from '../../ui/values/code.tsx'
import { Copy } from '../../ui/values/copy.tsx'
import { Url, withWholePorts } from '../../ui/values/url.tsx'
import { decidingWords } from '../../wording/conditions.ts'
import { formatDuration } from '../../wording/format.ts'

export function Results({ results }: { results: readonly TestResult[] }) {
  return (
    <Stack gap="lg" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
      {results.map((result, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: one per webhook, in a fixed order
        <li key={index}>
          <Text size="sm" ff="monospace">
            <Url>{result.url}</Url>
          </Text>
          <Group gap="xs" align="flex-start">
            <div>
              <Outcome attempt={{ ...result, response: null }} />
            </div>
            <Text size="sm" c="dimmed">
              after {formatDuration(result.durationMs)}
            </Text>
          </Group>
          {result.outcome === 'rejected' && (
            <Text size="sm" c="dimmed">
              Only a 2xx answer delivers an event. Events answered with 3xx or 4xx are rejected and not
              retried.
            </Text>
          )}
          <SimpleGrid cols={{ base: 1, lg: 2 }} mt="xs">
            <Message
              title={result.sent ? 'Sent' : 'Not sent. The request would have been:'}
              text={requestText(result)}
              what={`request to URL ${index + 1}`}
              hint="The values of your own headers are hidden."
            />
            <Message
              title="Received"
              text={responseText(result)}
              what={`response from URL ${index + 1}`}
              hint="The first 1,024 bytes of the body."
            />
          </SimpleGrid>
        </li>
      ))}
    </Stack>
  )
}

const message = (start: string, headers: Record<string, string>, body: string): string =>
  [start, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', body].join('\n')

/** As HTTP writes it. */
function requestText({ url, request: { headers, body } }: TestResult): string {
  const { pathname = '/', search = '' } = URL.parse(url) ?? {}
  return message(`POST ${pathname}${search} HTTP/1.1`, headers, body)
}

/** As HTTP writes it; empty without a response. */
const responseText = ({ status, responseHeaders, response }: TestResult): string =>
  responseHeaders === null ? '' : message(`HTTP/1.1 ${status ?? ''}`.trim(), responseHeaders, response ?? '')

type RulesNoteProps = { tested: TestedRules | null; rules: Destination['rules'] }

/** The rules would not send a real event like this. */
export function RulesNote({ tested, rules }: RulesNoteProps) {
  if (!tested || tested.outcome === 'sent') return null
  const { outcome, condition, message } = tested
  if (outcome === 'failed')
    return (
      <Alert color="red" title="The rules failed, so nothing was sent">
        A real event would become a dead letter: {message}.
      </Alert>
    )
  return (
    <Alert color="yellow" mb="sm" title="The rules would not send a real event like this" className="in-flow">
      Only tests ignore filter and sample.{' '}
      {outcome === 'filtered'
        ? condition !== null && decidingWords(rules, condition)
        : 'It is not in the sample.'}
    </Alert>
  )
}

type MessageProps = { title: string; text: string; what: string; hint: string }

function Message({ title, text, what, hint }: MessageProps) {
  return (
    <Box miw={0}>
      <Group justify="space-between" mb={4}>
        <Text size="sm" fw={600}>
          {title}
        </Text>
        {text !== '' && <Copy text={text} what={what} />}
      </Group>
      {text === '' ? (
        <Text size="sm" c="dimmed">
          Nothing
        </Text>
      ) : (
        <>
          <ScrollingCode label={what} maxHeight={420}>
            {withWholePorts(text)}
          </ScrollingCode>
          <Text size="xs" c="dimmed" mt={2}>
            {hint}
          </Text>
        </>
      )}
    </Box>
  )
}
