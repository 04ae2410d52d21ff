import { Text } from '@mantine/core'
import { useWindowEvent } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import type { Session } from '../api/client/query-client.ts'
import { linkIn, mustAsk, type PortalLink } from '../api/portal-link.ts'
import { useSignIn } from '../api/session.ts'
import { Confirm } from '../ui/form/confirm.tsx'

/**
 * The token is in the fragment, which servers and proxies do not get. This also removes it from the address and the
 * history, even if the link is ignored.
 */
export function takeLink(): PortalLink | undefined {
  const { hash, pathname, search } = window.location
  if (/[#&]token=/.test(hash)) window.history.replaceState(null, '', pathname + search)
  return linkIn(hash)
}

/** @param session undefined while it is not known. */
export function usePortalLink(first: PortalLink | undefined, session: Session | null | undefined) {
  const [link, setLink] = useState(first)
  const { mutate, isPending, error, reset } = useSignIn()
  // a link to the open page changes only the hash, and does not load the page again
  useWindowEvent('hashchange', () => {
    const next = takeLink()
    if (next) setLink(next)
  })
  const isAsking = link !== undefined && session !== undefined && mustAsk(link, session)
  useEffect(() => {
    if (!link || session === undefined || isAsking || isPending) return
    setLink(undefined)
    mutate(link.token)
  }, [link, session, isAsking, isPending, mutate])
  return {
    isOpening: isPending || (link !== undefined && !isAsking),
    error,
    question: isAsking && session && (
      <Confirm
        opened
        title={`Open workspace ${link.workspaceId}?`}
        action={`Open workspace ${link.workspaceId}`}
        onConfirm={() => mutate(link.token, { onSuccess: () => setLink(undefined) })}
        onClose={() => {
          setLink(undefined)
          reset()
        }}
        loading={isPending}
        error={error}
      >
        <Text size="sm">
          You opened a portal link, but in this browser you are signed in{' '}
          {session.who === 'workspace' ? `to workspace ${session.workspaceId}` : SIGNED_IN[session.who]}.
          Opening the workspace signs you out.
        </Text>
      </Confirm>
    ),
  }
}

const SIGNED_IN = { admin: 'as the admin', view: 'with view-only access' }
