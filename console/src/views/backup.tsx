import { Button, Code, Group, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { api, resultOf } from '../api/client/client.ts'
import { ApiError } from '../api/client/errors.ts'
import { useMayManage } from '../api/session.ts'
import { ErrorAlert } from '../ui/error-alert.tsx'
import { Empty } from '../ui/layout/empty.tsx'
import { Page, Panel } from '../ui/layout/page.tsx'
import { pluralize } from '../wording/format.ts'

export default function Backup() {
  const mayManage = useMayManage('all')
  return (
    <Page title="Backup" lead="All settings of this system in one file, in case Kafka is lost.">
      {mayManage ? (
        <Download />
      ) : (
        <Empty icon="search" title="This token cannot download a backup">
          A backup contains user IDs. Sign in with the control token.
        </Empty>
      )}
    </Page>
  )
}

function Download() {
  const { mutate, data: missing, error, isPending, isSuccess } = useMutation({ mutationFn: downloadBackup })
  return (
    <Panel
      title="Download"
      lead="Contains sources, destinations, audiences, traits, suppressed users and deletions, but no events. Secrets stay sealed under CONFIG_KEY: without that key, the backup is useless. It contains IDs of users, so protect it. Each download is in the audit log."
    >
      <Group>
        <Button onClick={() => mutate()} loading={isPending}>
          Download backup
        </Button>
        <Text size="sm" role="status">
          {isSuccess &&
            (missing
              ? `The backup lacks ${pluralize(missing, 'setting')} that Sluice cannot read.`
              : 'The backup is complete.')}
        </Text>
      </Group>
      <ErrorAlert error={error} title="No backup was saved" />
      <Text size="sm" mt="md">
        To restore it, use the command line: <Code>sluice restore &lt;file&gt; --dry-run</Code> shows what
        would change. The console cannot restore.
      </Text>
    </Panel>
  )
}

/**
 * @returns how many settings are missing because Sluice could not read them
 * @throws ApiError
 */
async function downloadBackup(): Promise<number> {
  const text = await resultOf(api.GET('/api/backup', { parseAs: 'text' }))
  if (!/\nend [\w-]+\n$/.test(text.slice(-100))) throw brokenOff()
  const { missing } = JSON.parse(text.slice(0, text.indexOf('\n'))) as { missing: string[] } // its first line
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  link.download = `sluice-${new Date().toISOString().slice(0, 10)}.backup`
  link.click()
  URL.revokeObjectURL(url)
  return missing.length
}

const brokenOff = () =>
  new ApiError({ code: 'incomplete', message: 'The download broke off. Try again.', errors: [] }, 0)
