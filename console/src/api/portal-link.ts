import type { Session } from './client/query-client.ts'
import { isSameUser } from './session.ts'

export type PortalLink = { workspaceId: string; token: string }

/** In the fragment, so that no server or proxy sees the token. */
export const portalUrl = (token: string): string => `${window.location.origin}/#token=${token}`

/** Only of a workspace: a link must not make anyone an operator. @param hash such as `#token=workspace:…` */
export function linkIn(hash: string): PortalLink | undefined {
  const token = new URLSearchParams(hash.slice(1)).get('token') ?? ''
  const [, workspaceId] = /^workspace:([\w-]+)\./.exec(token) ?? []
  return workspaceId === undefined ? undefined : { workspaceId, token }
}

/** Removes any token from the address and the history, also one that it ignores. */
export function takeLink(): PortalLink | undefined {
  const { hash, pathname, search } = window.location
  if (hash.startsWith('#token=')) window.history.replaceState(null, '', pathname + search)
  return linkIn(hash)
}

/**
 * Against login CSRF: without the question, anyone with a link could move an operator, unnoticed, into a workspace of
 * theirs and wait for secrets to be typed there. Nobody is asked who is signed out or in this workspace already: the
 * header names the workspace.
 */
export const mustAsk = ({ workspaceId }: Pick<PortalLink, 'workspaceId'>, session: Session | null): boolean =>
  session !== null && !session.isOver && !isSameUser(session, { who: 'workspace', workspaceId })
