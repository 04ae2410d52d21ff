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

type LoadedProps<T> = {
  query: Query<T>
  /** Shown if the record does not exist. */
  missing?: ReactNode
  children: (data: T) => ReactNode
}

export function Loaded<T>({ query, missing, children }: LoadedProps<T>) {
  const { data, error } = query
  if (data !== undefined && !isMissing(error))
    return (
      <>
        {error && <Outdated error={error} at={new Date(query.dataUpdatedAt).toISOString()} />}
        {children(data)}
      </>
    )
  if (missing && isMissing(error)) return missing
  if (error)
    return (
      <Stack align="flex-start">
        <ErrorAlert error={error} title="Loading failed" />
        {!isMissing(error) && (
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

/** Never existed, or was deleted while its data was cached. */
const isMissing = (error: Error | null) => error instanceof ApiError && error.status === 404

function Outdated({ error, at }: { error: Error; at: string }) {
  return (
    <Alert color="red" role="alert" mb="md" title="Refresh failed">
      {error.message} Showing data from <Timestamp at={at} short />.
    </Alert>
  )
}
