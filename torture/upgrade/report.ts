import { markdownTable } from '../../harness/results.ts'
import { type Account, account, type Facts } from '../account.ts'
import { missingRows, sumRows } from '../report.ts'
import type { Direction, Findings } from './findings.ts'

export type Run = {
  from: string
  perSecond: number
  facts: Facts
  result: Account
  findings: Findings
  /** Requests that were not answered with 200, by reason. */
  refused: ReadonlyMap<string, number>
}

const count = (figure: number) => figure.toLocaleString('en-US')

/** Without power cuts, nothing may be gone from Kafka. */
const withoutCuts = (rows: string[][]) => rows.filter(([name]) => !name?.includes('neither reported'))

export function report({ from, perSecond, facts, result, findings, refused }: Run): string {
  const { up, back, repeats, badlyRedacted } = findings
  const both = (name: string, figure: (direction: Direction) => string) => [name, figure(up), figure(back)]
  const requests = [...refused].map(([why, times]) => `${why}: ${times}`).join(', ')
  const directions = [
    both('retries that one version put on a rung and the other delivered', (it) => count(it.handedOver)),
    both('dead letters of one version that the other replayed', (it) => count(it.replayed)),
    both('**... not delivered**', (it) => `**${count(it.unreplayed.length)}**`),
    both('calls routed by one version and sent again to the other', (it) => count(it.resent)),
    both('**... forwarded again**', (it) => `**${count(it.forwardedAgain.length)}**`),
    both('calls of a source added while both ran, all delivered', (it) => count(it.probes)),
  ]
  const rows = [
    ...sumRows(result),
    ...withoutCuts(missingRows(result)),
    ['**deliveries repeated although no process was replaced**', `**${count(repeats.length)}**`],
    [
      '**bodies that rules did not redact, or with another hash of the user**',
      badlyRedacted ? `**${count(badlyRedacted.length)}**` : 'no rules in the earlier version',
    ],
  ]
  return `\`npm run upgrade -- --from ${from} --rate ${perSecond}\`: two of each process of ${from} run on one broker under ${perSecond} calls a
second. One after the other is replaced by this version, then all again by ${from}. In the middle of each way both versions
run side by side, and settings change through the control that was replaced. Requests that did not get 200 and were sent
again: ${requests || 'none'}.

${markdownTable(['', 'upgrade', 'back'], directions)}

${markdownTable(['', ''], rows)}

${markdownTable(['destination', 'routed', 'delivered', 'given up', 'cancelled', '**missing**'], destinationRows(facts))}`
}

/** One row for each destination that got every call. */
function destinationRows(facts: Facts): string[][] {
  return facts.steady.map((id) => {
    const { routed, delivered, dead, cancelled, missing } = account(only(facts, id))
    const lost = missing.unrouted.length + missing.unsettled.length
    return [id, ...[routed, delivered, dead, cancelled].map(count), `**${count(lost)}**`]
  })
}

function only(facts: Facts, id: string): Facts {
  const ofIt = (keys: ReadonlySet<string>) => new Set([...keys].filter((key) => key.startsWith(`${id} `)))
  return {
    ...facts,
    routed: ofIt(facts.routed),
    dead: ofIt(facts.dead),
    cancelled: ofIt(facts.cancelled),
    answered: facts.answered.filter(({ destinationId }) => destinationId === id),
    steady: [id],
  }
}
