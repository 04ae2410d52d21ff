import type { Session } from './client/query-client.ts'
import { isSameUser } from './session.ts'

export type PortalLink = { workspaceId: string; token: string }

/** Only of a workspace: a link must not make anyone an operator. @param hash such as `#token=workspace:…` */
export function linkIn(hash: string): PortalLink | undefined {
  const token = new URLSearchParams(hash.slice(1)).get('token') ?? ''
  const [, workspaceId] = /^workspace:([\w-]+)\./.exec(token) ?? []
  return workspaceId === undefined ? undefined : { workspaceId, token }
}

/**
 * Against login CSRF: without the question, anyone with a link could move an operator, unnoticed, into a workspace of
 * theirs and wait for secrets to be typed there. Nobody is asked who is signed out or in this workspace already: the
 * header names the workspace.
 */
export const mustAsk = ({ workspaceId }: Pick<PortalLink, 'workspaceId'>, session: Session | null): boolean =>
  session !== null && !session.isOver && !isSameUser(session, { who: 'workspace', workspaceId })
