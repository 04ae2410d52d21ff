import { Alert, Button, Group, Skeleton, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { ApiError } from '../../api/client/errors.ts'
import { ErrorAlert } from '../error-alert.tsx'
import { Timestamp } from '../values/time.tsx'

type Query<T> = {
  data: T | undefined
  error: Error | null
  isFetching: boolean
  /** ms since 1970 */
  dataUpdatedAt: number
  refetch: () => unknown
}

export function Loaded<T>({ query, children }: { query: Query<T>; children: (data: T) => ReactNode }) {
  const { data, error } = query
  if (data !== undefined && !isDeleted(error))
    return (
      <>
        {error && <Outdated error={error} at={new Date(query.dataUpdatedAt).toISOString()} />}
        {children(data)}
      </>
    )
  if (error)
    return (
      <Stack align="flex-start">
        <ErrorAlert error={error} title="Loading failed" />
        {!isDeleted(error) && (
          <Button variant="default" onClick={() => query.refetch()} loading={query.isFetching}>
            Try again
          </Button>
        )}
      </Stack>
    )
  return <LoadingView />
}

export const LoadingView = () => (
  <Stack role="status" aria-label="Loading">
    <Group>
      <Skeleton height={20} width="30%" />
    </Group>
    <Skeleton height={90} />
  </Stack>
)

/** Cached data of a deleted record. */
const isDeleted = (error: Error | null) => error instanceof ApiError && error.status === 404

function Outdated({ error, at }: { error: Error; at: string }) {
  return (
    <Alert color="red" role="alert" mb="md" title="Refresh failed">
      {error.message} Showing data from <Timestamp at={at} short />.
    </Alert>
  )
}
