import { Alert, Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Link, useLocation } from 'wouter'
import { ApiError } from '../api/client/errors.ts'
import { type SystemProblem, useDeleteUnreadableSetting, useStatus } from '../api/status.ts'
import { Confirm } from '../ui/form/confirm.tsx'
import { MayManage } from '../ui/may-manage.tsx'
import { Timestamp } from '../ui/values/time.tsx'
import { pluralize } from '../wording/format.ts'
import { pageLabel, problemTitle } from '../wording/problems.ts'
import { visible } from '../wording/visible.ts'

const MAX_SHOWN = 3

export function StatusBanner() {
  const { data, error, dataUpdatedAt } = useStatus()
  const [isWhole, { open }] = useDisclosure()
  // the last answer may no longer be true
  if (error) return <Unknown error={error} at={dataUpdatedAt} />
  const problems = data?.problems ?? []
  if (problems.length === 0) return null
  const more = problems.length - MAX_SHOWN
  return (
    <Stack mb="md" gap="sm">
      {problems.slice(0, isWhole ? problems.length : MAX_SHOWN).map((problem) => (
        <ProblemAlert key={keyOf(problem)} problem={problem} />
      ))}
      {more > 0 && !isWhole && (
        <Button variant="default" size="compact-sm" onClick={open} style={{ alignSelf: 'flex-start' }}>
          {`Show ${pluralize(more, 'more problem')}`}
        </Button>
      )}
    </Stack>
  )
}

const keyOf = ({ code, group, setting, since }: SystemProblem) =>
  [code, group, setting?.kind, setting?.id, since].join(' ')

/** Control, or the connection to it, is in trouble. A session's end has its own dialog. */
function Unknown({ error, at }: { error: Error; at: number }) {
  if (error instanceof ApiError && error.status === 401) return null
  return (
    <Alert color="red" role="alert" mb="md" title="The state of Sluice is unknown">
      <Text size="sm">
        {error.message}{' '}
        {at > 0 && (
          <>
            It last answered at <Timestamp at={new Date(at).toISOString()} short />.
          </>
        )}
      </Text>
    </Alert>
  )
}

function ProblemAlert({ problem }: { problem: SystemProblem }) {
  const { code, severity, message, action, since, page, runbook, setting } = problem
  const [path] = useLocation()
  return (
    // figures in the message change every few seconds: announce only new problems
    <Alert
      color={severity === 'error' ? 'red' : 'yellow'}
      role="alert"
      aria-relevant="additions"
      title={problemTitle(code)}
    >
      <Group justify="space-between" align="flex-end">
        <Text size="sm" className="in-flow" component="div">
          {visible(message)}{' '}
          {since !== null && (
            <>
              Since <Timestamp at={since} short />.
            </>
          )}
          <div>
            <b>{action}</b>{' '}
            {page !== null && page !== path && (
              <Anchor component={Link} to={page} size="sm" underline="always" c="inherit">
                {pageLabel(page)}
              </Anchor>
            )}
          </div>
          <Text size="xs">Runbook: {runbook}</Text>
        </Text>
        {setting && (
          <MayManage what="all">
            <DeleteSetting {...setting} />
          </MayManage>
        )}
      </Group>
    </Alert>
  )
}

function DeleteSetting({ kind, id }: NonNullable<SystemProblem['setting']>) {
  const [opened, { open, close }] = useDisclosure()
  const remove = useDeleteUnreadableSetting({ kind, id })
  const action = `Delete ${kind} ${id}`
  return (
    <>
      <Button size="xs" color="red" variant="light" onClick={open}>
        {action}
      </Button>
      <Confirm
        opened={opened}
        onClose={close}
        title={`${action}?`}
        action={action}
        danger
        onConfirm={() => remove.mutate(undefined, { onSuccess: close })}
        loading={remove.isPending}
        error={remove.error}
      >
        <Text size="sm">The record is deleted, and deliveries that are waiting for it are cancelled.</Text>
      </Confirm>
    </>
  )
}
