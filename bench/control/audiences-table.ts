import { markdownTable, spread, spreadOfCounts } from '../figures/stats.ts'
import type { Used } from '../figures/used.ts'
import { MB } from '../stack/process.ts'

/** An upload: how many it names, how many calls Kafka has got of it, and what it took. */
export type Case = Used & { name: string; members: number; calls: number }

const GOALS: Readonly<Record<string, string>> = {
  first: '>= 20,000 calls/s',
  'the same again': '<= 20 s',
}

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
      first?.calls ? `**${spreadOfCounts(cases.map(({ calls, seconds }) => calls / seconds))}**` : '',
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
highest resident memory of control is to be <= 512 MB. All processes, Kafka and the upload share two cores as the system places them. Median of
${rounds.length} rounds, with the lowest and the highest.

${markdownTable(
  [
    ...['upload', 'seconds', 'identify calls', 'calls/s', "control's us of CPU per member"],
    ...["control's RSS, MB", 'machine idle', 'goal'],
  ],
  rows,
)}`
}
