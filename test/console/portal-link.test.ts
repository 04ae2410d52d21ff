import { expect, test } from 'vitest'
import { linkIn, mustAsk } from '../../console/src/api/portal-link.ts'
import { mayManage } from '../../console/src/api/session.ts'

const TOKEN = 'workspace:acme_2.1790000000.AAAAAAAAAAAAAAAA.BBBB-_BB'
const session = (who: 'admin' | 'view' | 'workspace', workspaceId: string | null = null) => ({
  ...{ who, workspaceId, person: null, isOver: false },
})

test('a portal link has the token of a workspace in its fragment, even if a program encoded it', () => {
  expect(linkIn(`#token=${TOKEN}`)).toEqual({ workspaceId: 'acme_2', token: TOKEN })
  expect(linkIn(`#token=${encodeURIComponent(TOKEN)}`)).toEqual({ workspaceId: 'acme_2', token: TOKEN })
})

test('no link signs anyone in as an operator', () => {
  for (const hash of ['', '#main', '#token=', '#token=test-admin-token', '#token=admin.1790000000.A.B'])
    expect(linkIn(hash)).toBeUndefined()
})

test('whoever is signed in is asked before a link opens another workspace', () => {
  const asked = (before: Parameters<typeof mustAsk>[1]) => mustAsk({ workspaceId: 'acme' }, before)
  expect(asked(session('admin'))).toBe(true)
  expect(asked(session('view'))).toBe(true)
  expect(asked(session('workspace', 'globex'))).toBe(true)
  expect(asked(session('workspace', 'acme'))).toBe(false)
  expect(asked(null)).toBe(false)
  expect(asked({ ...session('admin'), isOver: true })).toBe(false)
})

test('a workspace manages its destinations, and only the admin manages the rest', () => {
  const roles = ['admin', 'view', 'workspace', undefined] as const
  expect(roles.filter((who) => mayManage('destinations', who))).toEqual(['admin', 'workspace'])
  expect(roles.filter((who) => mayManage('all', who))).toEqual(['admin'])
})
