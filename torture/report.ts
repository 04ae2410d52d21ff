import { markdownTable } from '../harness/results.ts'
import type { Account } from './account.ts'
import type { NoticeAccount } from './notices.ts'

export type Run = {
  seed: number
  minutes: number
  clients: number
  /** How many faults there were, by kind. */
  struck: ReadonlyMap<string, number>
  clocks: boolean
  result: Account
  notices: NoticeAccount
  /** Undefined if some records were not settled in time. */
  settledMs: number | undefined
  deaths: number
}

const count = (figure: number) => figure.toLocaleString('en-US')
const ofTopics = ({ events, deliveries, retries }: Account['cut']) =>
  `${count(events)} of events, ${count(deliveries)} of deliveries, ${count(retries)} of retries`
const SOME = 5

export function report(run: Run): string {
  const { seed, minutes, clients, struck, clocks, result, notices, settledMs, deaths } = run
  const kinds = [...struck].map(([kind, times]) => `${kind} ${times}`)
  const faults = [...kinds, ...(clocks ? [] : ['clocks unchanged: libfaketime was not found'])].join(', ')
  const rows = [
    ...sumRows(result),
    ...lossRows(result),
    ...missingRows(result),
    ...noticeRows(notices),
    ['processes that exited by themselves', count(deaths)],
    [
      'all settled after the last fault',
      settledMs === undefined ? 'no' : `${(settledMs / 1_000).toFixed(0)} s`,
    ],
  ]
  return `\`npm run torture -- --minutes ${minutes} --seed ${seed} --clients ${clients}\`: ${clients} clients each make a call a second and send it until it is accepted. One of each process, a broker and
a registry run on this machine, while faults strike them (${faults}).${clocks ? STEPS : ''} The broker compresses all topics with LZ4. There are eleven destinations: one gets notices; one always answers, two change, one has two URLs that change, one never
accepts anything, one has settings that change (it is sometimes paused), one has rules that select some of the events and hide the users' ids, and three share a host, where one always answers. At the end all answer except the one that never accepts anything. Then every call is accounted
for, by what the webhooks answered and by the topics.

${markdownTable(['', ''], rows)}`
}

export const sumRows = (sums: Account): string[][] => [
  ['calls answered with 200', count(sums.accepted)],
  ['events in `events`', count(sums.events)],
  ['deliveries routed', count(sums.routed)],
  ['... delivered', count(sums.delivered)],
  ['... given up (`deliveries.dead`)', count(sums.dead)],
  ['... cancelled (destination off or removed)', count(sums.cancelled)],
  ['POSTs repeated to the same webhook, with the same `X-Delivery-Id`', count(sums.again)],
  ['... most POSTs of one delivery to one webhook', count(sums.most)],
]

const lossRows = ({ mistaken, cut, reported, rewritten, unwitnessed, excused }: Account): string[][] => [
  [
    "deliveries settled by the answer to another delivery's POST: webhooks sent answers without requests",
    count(mistaken),
  ],
  ['records that Kafka lost with the power', ofTopics(cut)],
  ['... reported in `log-faults`', ofTopics(reported)],
  ['... not reported, because Kafka had not acknowledged them and they were written again', count(rewritten)],
  [
    '... not reported: their writer was ended soon after, so perhaps no process knew of them',
    ofTopics(unwitnessed),
  ],
  ['missing calls and deliveries that these reported and unwitnessed losses explain', count(excused)],
]

export const missingRows = ({ missing }: Account): string[][] =>
  KINDS.map((what) => [`**${MISSING[what]}**`, `**${count(missing[what].length)}**${some(missing[what])}`])

const noticeRows = ({ notices, seen, repeated, missing }: NoticeAccount): string[][] => [
  ['notices about webhooks of the permanent destinations', count(notices)],
  ['... repeated with another id, because control could not remember the first one', count(repeated)],
  ['states of webhooks that control saw for so long that it had to write a notice', count(seen)],
  [
    '**... or that it remembered, without a notice**',
    `**${count(missing.unannounced.length)}**${some(missing.unannounced)}`,
  ],
  [
    '**notices of the same state in a row, although control remembered the first one**',
    `**${count(missing.again.length)}**${some(missing.again)}`,
  ],
]

const STEPS = ` A step
sets the wall clock of one of the four running processes up to ten minutes forward or back, by libfaketime; the broker's
clock stays right, and before the end all are right. A delivery first attempted by a clock that is ahead is given up that
much later, so settling may take that long.`

const MISSING: Readonly<Record<keyof Account['missing'], string>> = {
  accepted: 'accepted calls that are missing in `events` and not reported as lost',
  unrouted: 'events that a permanent destination did not get and that are not reported as lost',
  unsettled: 'deliveries without an outcome that are not reported as lost',
  unreported: 'records of events and deliveries that are gone, neither reported nor written again',
  strangeIds: 'deliveries repeated with another `X-Delivery-Id`',
  unaccepted: 'deliveries recorded as delivered that no webhook accepted, except by such an answer',
  unwanted: "deliveries that their destination's rules exclude",
  unredacted: "POSTs that show what their destination's rules hide",
}

const KINDS = [
  'accepted',
  'unrouted',
  'unsettled',
  'unreported',
  'strangeIds',
  'unaccepted',
  'unwanted',
  'unredacted',
] as const

/** The first few keys, and their number for each destination. */
function some(keys: readonly string[]): string {
  if (keys.length === 0) return ''
  const ofDestinations = keys.filter((key) => key.includes(' '))
  const sums = [...Map.groupBy(ofDestinations, (key) => key.split(' ')[0])].map(
    ([destination, { length }]) => `${destination} ${count(length)}`,
  )
  return `: ${[...sums, `as ${keys.slice(0, SOME).join(', ')}`].join('; ')}`
}
