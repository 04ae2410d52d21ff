import { type Goal, verdict } from '../figures/goals.ts'
import { markdownTable, median, spread, spreadOfCounts } from '../figures/stats.ts'
import type { Used } from '../figures/used.ts'
import { MB } from '../stack/process.ts'

/** An upload: how many it names, how many calls Kafka has got of it, and what it took. */
export type Case = Used & { name: string; members: number; calls: number }

const FIRST_PER_SECOND = 20_000
const AGAIN_S = 20
const RSS_MB = 512
const GOALS: Readonly<Record<string, string>> = {
  first: `>= ${FIRST_PER_SECOND.toLocaleString('en-US')} calls/s`,
  'the same again': `<= ${AGAIN_S} s`,
}

function goals(rounds: readonly (readonly Case[])[]): Goal[] {
  const of = (name: string, figure: (one: Case) => number) =>
    median(rounds.flatMap((round) => round.filter((one) => one.name === name).map(figure)))
  const highest = Math.max(...rounds.flat().map(({ rss }) => rss))
  return [
    { what: 'calls/s of the first', is: of('first', perSecond), atLeast: FIRST_PER_SECOND },
    {
      what: 'the same again, in seconds,',
      is: of('the same again', ({ seconds }) => seconds),
      atMost: AGAIN_S,
    },
    { what: "control's RSS, in MB,", is: highest / MB, atMost: RSS_MB },
  ]
}

const perSecond = ({ calls, seconds }: Case) => calls / seconds

export function report(rounds: readonly (readonly Case[])[], members: number): string {
  const names = rounds[0]?.map(({ name }) => name) ?? []
  const rows = names.map((name, index) => {
    const cases = rounds.flatMap((round) => round[index] ?? [])
    const [first] = cases
    return [
      name,
      `**${spread(
        cases.map(({ seconds }) => seconds),
        1,
      )}**`,
      (first?.calls ?? 0).toLocaleString('en-US'),
      first?.calls ? `**${spreadOfCounts(cases.map(perSecond))}**` : '',
      spread(
        cases.map((one) => (one.cpu / one.members) * 1e6),
        1,
      ),
      spread(
        cases.map(({ rss }) => rss / MB),
        0,
      ),
      `${spread(
        cases.map(({ idleShare }) => idleShare * 100),
        0,
      )} %`,
      GOALS[name] ?? '',
    ]
  })
  return `${members.toLocaleString('en-US')} members, one id of 24 characters a line, uploaded to control as \`npm start\` runs it; an audience of its own in each round. Seconds are those from the
request's first byte to its answer, which comes when all is compared and Kafka has acknowledged each identify call (counted in topic \`events\`) and each member. The
highest resident memory of control is to be <= ${RSS_MB} MB. All processes, Kafka and the upload share two cores as the system places them. Median of
${rounds.length} rounds, with the lowest and the highest.

${markdownTable(
  [
    ...['upload', 'seconds', 'identify calls', 'calls/s', "control's us of CPU per member"],
    ...["control's RSS, MB", 'machine idle', 'goal'],
  ],
  rows,
)}

${verdict(goals(rounds))}`
}
