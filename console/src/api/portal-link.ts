import type { Session } from './client/query-client.ts'
import { isSameUser } from './session.ts'

export type PortalLink = { workspaceId: string; token: string }

/**
 * Accepts only workspace tokens: a link must not sign anyone in as an operator.
 * @param hash such as `#token=workspace:…`
 */
export function linkIn(hash: string): PortalLink | undefined {
  const token = new URLSearchParams(hash.slice(1)).get('token') ?? ''
  const [, workspaceId] = /^workspace:([\w-]+)\./.exec(token) ?? []
  return workspaceId === undefined ? undefined : { workspaceId, token }
}

/**
 * Protects against login CSRF: without the question, a link could move an operator unnoticed into someone else's
 * workspace, where the operator might enter secrets. People who are signed out or already in this workspace are not
 * asked: the header names the workspace.
 */
export const mustAsk = ({ workspaceId }: Pick<PortalLink, 'workspaceId'>, session: Session | null): boolean =>
  session !== null && !session.isOver && !isSameUser(session, { who: 'workspace', workspaceId })
