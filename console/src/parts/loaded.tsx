import { Button, Group, Skeleton, Stack } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Refusal } from './refusal.tsx'

/** What has been read, or that it is being read, or why it cannot be. */
export function Loaded<T>({
  query,
  children,
}: {
  query: UseQueryResult<T>
  children: (data: T) => ReactNode
}) {
  if (query.data !== undefined) return <>{children(query.data)}</>
  if (query.error)
    return (
      <Stack align="flex-start">
        <Refusal error={query.error} title="This cannot be shown now" />
        <Button variant="default" onClick={() => query.refetch()} loading={query.isFetching}>
          Try again
        </Button>
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
