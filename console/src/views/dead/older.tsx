import { Button, Group, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'

type OlderParts = {
  query: {
    data: { pages: readonly unknown[] } | undefined
    hasNextPage: boolean
    isFetchingNextPage: boolean
    fetchNextPage: () => unknown
  }
}

/** Further back, page by page; meanwhile nothing that is newer comes in between. */
export function Older({ query: { data, hasNextPage, isFetchingNextPage, fetchNextPage } }: OlderParts) {
  const queries = useQueryClient()
  const hasOlder = (data?.pages.length ?? 0) > 1
  return (
    <Group mt="sm" gap="sm">
      {hasNextPage && (
        <Button variant="default" onClick={() => fetchNextPage()} loading={isFetchingNextPage}>
          Show older ones
        </Button>
      )}
      {hasOlder && (
        <>
          <Button variant="default" onClick={() => void queries.resetQueries({ queryKey: ['dead'] })}>
            Back to the newest
          </Button>
          <Text size="sm" c="dimmed">
            While older ones are shown, what is given up now is not.
          </Text>
        </>
      )}
    </Group>
  )
}
