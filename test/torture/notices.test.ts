import { expect, test } from 'vitest'
import { account } from '../../torture/account.ts'
import {
  accountNotices,
  type Look,
  longTroubles,
  type Notice,
  type NoticeFacts,
  noticeIn,
  noticesHold,
  webhooksOf,
} from '../../torture/notices.ts'

type Shown = 'failing' | 'rejecting' | 'healthy' | 'idle' | undefined

const [webhook] = webhooksOf('crm', ['http://127.0.0.1:9001/0'])
const id = webhook?.id ?? ''

/** Looks are 2 s apart. */
const looksAt = (...shown: [Shown, count: number][]): Look[] =>
  shown
    .flatMap(([state, count]) => Array<Shown>(count).fill(state))
    .map((state, nth) => ({ at: nth * 2_000, states: state && new Map([['crm/0', state]]) }))

const notice = (messageId: string, state: Notice['state']): Notice => ({ messageId, place: 'crm/0', state })

const facts = (more: Partial<NoticeFacts> = {}): NoticeFacts => ({
  webhooks: webhook ? [webhook] : [],
  looks: looksAt(['failing', 20], ['healthy', 20]),
  notices: [notice('n1', 'failing'), notice('n2', 'healthy')],
  remembered: new Map([[id, ['failing', 'healthy']]]),
  cuts: [],
  ...more,
})

test('a trouble counts if control saw it for long enough to write a notice', () => {
  const longOf = (...shown: Parameters<typeof looksAt>) => longTroubles(looksAt(...shown), 'crm/0')
  expect(longOf(['failing', 19])).toEqual([true])
  expect(longOf(['failing', 18])).toEqual([])
  expect(longOf(['failing', 9], ['rejecting', 10])).toEqual([true])
  expect(longOf(['failing', 10], [undefined, 1], ['failing', 10])).toEqual([])
  expect(longOf(['failing', 10], ['idle', 1], ['failing', 10])).toEqual([])
  expect(longOf(['failing', 20], ['healthy', 10], ['failing', 20])).toEqual([true])
  expect(longOf(['healthy', 20], ['failing', 20], ['healthy', 20])).toEqual([true, false])
})

test('a trouble does not count if control was frozen meanwhile', () => {
  const looks = looksAt(['failing', 20]).map(({ at, states }, nth) => ({
    at: at + (nth > 9 ? 20_000 : 0),
    states,
  }))
  expect(longTroubles(looks, 'crm/0')).toEqual([])
})

test('each state has its notice, and copies of a notice do not count', () => {
  const result = accountNotices(
    facts({ notices: [notice('n1', 'failing'), notice('n1', 'failing'), notice('n2', 'healthy')] }),
  )
  expect(result).toEqual({ notices: 2, seen: 2, repeated: 0, missing: { unannounced: [], again: [] } })
})

test.each([
  ['a trouble that control saw has no notice', { notices: [], remembered: new Map() }, 2],
  ['its recovery has none', { notices: [notice('n1', 'failing')], remembered: new Map() }, 1],
  ['control remembers a notice that is gone', { notices: [notice('n2', 'healthy')], looks: [] }, 1],
])('%s: does not hold', (_, more, count) => {
  const result = accountNotices(facts(more))
  expect(result.missing).toEqual({ unannounced: Array(count).fill('crm/0'), again: [] })
  expect(noticesHold(result)).toBe(false)
})

test('a notice that Kafka lost with the power is not missing, unless it was written again', () => {
  const lost = '0123456789abcdef0123456789abcdef'
  const cuts = [
    {
      kind: 'events' as const,
      keys: new Map([
        [7, lost],
        [8, 'u1.1'],
      ]),
    },
  ]
  const rest = [notice('n2', 'healthy')]
  expect(noticesHold(accountNotices(facts({ notices: rest, looks: [], cuts })))).toBe(true)
  const other = { ...notice(lost, 'failing'), place: 'mail/0' }
  expect(noticesHold(accountNotices(facts({ notices: [...rest, other], looks: [], cuts })))).toBe(false)
})

test('two notices of the same state in a row hold only if control could not remember the first', () => {
  const notices = [notice('n1', 'failing'), notice('n2', 'failing'), notice('n3', 'healthy')]
  const of = (...states: Notice['state'][]) =>
    accountNotices(facts({ notices, remembered: new Map([[id, states]]) }))
  expect(of('failing', 'healthy')).toMatchObject({ repeated: 1, missing: { again: [] } })
  expect(of('failing', 'failing', 'healthy').missing.again).toEqual(['crm/0', 'crm/0'])
})

test('notices are events that only the alarm gets', () => {
  const read = noticeIn({
    messageId: 'n1',
    properties: JSON.stringify({ destinationId: 'crm', urlIndex: 0, state: 'failing' }),
  })
  expect(read).toEqual(notice('n1', 'failing'))
  const none = new Set<string>()
  const found = {
    accepted: none,
    events: none,
    answered: [],
    cancelled: none,
    recorded: none,
    mistaken: none,
  }
  const settled = (keys: string[]) =>
    account({ ...found, routed: new Set(keys), dead: new Set(keys), steady: ['crm'], notices: [read] })
  expect(settled(['alarm n1']).missing.unrouted).toEqual([])
  expect(settled([]).missing.unrouted).toEqual(['alarm n1'])
})
