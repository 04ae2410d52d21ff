import { Alert, Button, Group, Skeleton, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { Refused } from '../../api/errors.ts'
import { Refusal } from '../error-alert.tsx'
import { When } from '../values/when.tsx'

type Query<T> = {
  data: T | undefined
  error: Error | null
  isFetching: boolean
  /** ms since 1970 */
  dataUpdatedAt: number
  refetch: () => unknown
}

/** What has been read, or that it is being read, or why it cannot be. */
export function Loaded<T>({ query, children }: { query: Query<T>; children: (data: T) => ReactNode }) {
  const { data, error } = query
  if (data !== undefined && !isGone(error))
    return (
      <>
        {error && <Old error={error} at={new Date(query.dataUpdatedAt).toISOString()} />}
        {children(data)}
      </>
    )
  if (error)
    return (
      <Stack align="flex-start">
        <Refusal error={error} title="This cannot be shown now" />
        {!isGone(error) && (
          <Button variant="default" onClick={() => query.refetch()} loading={query.isFetching}>
            Try again
          </Button>
        )}
      </Stack>
    )
  return (
    <Stack role="status" aria-label="Loading">
      <Group>
        <Skeleton height={20} width="30%" />
      </Group>
      <Skeleton height={90} />
    </Stack>
  )
}

/** What was read before is of a record that there is no more. */
const isGone = (error: Error | null) => error instanceof Refused && error.status === 404

function Old({ error, at }: { error: Error; at: string }) {
  return (
    <Alert color="red" role="alert" mb="md" title="This cannot be read now">
      {error.message} What is shown is of <When at={at} short />.
    </Alert>
  )
}
