import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { sizeOf } from '../../harness/command-line.ts'
import { launch, launchFrom } from '../../harness/launch.ts'
import { startOpenLoad } from '../../harness/open-load.ts'
import { writeSection } from '../../harness/results.ts'
import { account, type Facts, holds } from '../account.ts'
import { runProgram, say } from '../program.ts'
import { type Kafka, openKafka } from '../read.ts'
import { checkOut, findEarlier } from './earlier.ts'
import { badlyRedacted, directionOf, type Findings, unexplainedRepeats, worked } from './findings.ts'
import { pass, type Running } from './pass.ts'
import { BACK, calmSpans, UPGRADE } from './plan.ts'
import { report } from './report.ts'
import { makeSettings, PROBE, WRITE_KEY } from './settings.ts'
import { startSystem } from './system.ts'

const USAGE = `npm run upgrade             upgrades an earlier version to this one and back under load, then checks every call
  --from REF    the earlier version: a commit, a tag or a folder (default: the newest release before this commit)
  --rate N      calls a second (default: 30)
  --write       puts the result into bench/RESULTS.md
`

const NOW = 'this version'
const CALM_MS = 5_000
/** Longer than the last rung. */
const SETTLE_MS = 300_000

function options() {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ options: { rate: text, from: text, write: { type: 'boolean' } } })
  const { rate = '30', from, write = false } = values
  const perSecond = sizeOf('--rate', rate)
  return { perSecond, write, earlier: findEarlier(from) }
}

async function upgrade({ perSecond, earlier, write }: ReturnType<typeof options>): Promise<boolean> {
  await using closing = new AsyncDisposableStack()
  const before = launchFrom(await checkOut(earlier))
  const system = await startSystem(before, closing)
  const { steady, hasRules } = await makeSettings(system)
  const kafka = openKafka(system)
  say(`two of each process of ${earlier.name} are ready; ${perSecond} calls a second`)
  const load = startOpenLoad({ urls: system.urls('ingest'), writeKey: WRITE_KEY, perSecond })
  await sleep(CALM_MS) // until late compilation is done

  const running: Running = { system, load }
  const up = await pass(running, { roll: UPGRADE, to: NOW, by: launch })
  const back = await pass(running, { roll: BACK, to: earlier.name, by: before })
  await load.drain()
  const { posts } = system
  const calm = calmSpans([...up.replaced, ...back.replaced], performance.now())
  await settle(kafka)
  system.check()

  const calls = load.calls.filter(({ acceptedAt }) => acceptedAt !== undefined)
  const facts: Facts = {
    ...withoutProbes(await kafka.topics()),
    accepted: new Set(calls.map(({ messageId }) => messageId)),
    answered: system.endpoints.flatMap((endpoint) => endpoint.answered),
    steady,
  }
  const userOf = new Map(calls.map(({ messageId, userId }) => [messageId, userId]))
  const findings: Findings = {
    up: directionOf(posts, up),
    back: directionOf(posts, back),
    repeats: unexplainedRepeats(posts, calm),
    badlyRedacted: hasRules ? badlyRedacted(ofRules(posts), userOf) : undefined,
  }
  const result = account(facts)
  const text = report({ from: earlier.name, perSecond, facts, result, findings, refused: load.refused })
  process.stdout.write(`## upgrade\n\n${text}\n`)
  if (write) await writeSection('upgrade', text)
  return holds(result) && worked(findings)
}

const ofRules = <T extends { destinationId: string }>(posts: readonly T[]): readonly T[] =>
  posts.filter(({ destinationId }) => destinationId === 'ruled')

/** Probes are of other sources, and do not go to the steady destinations. */
const withoutProbes = <T extends Pick<Facts, 'events'>>(facts: T): T => ({
  ...facts,
  events: new Set([...facts.events].filter((id) => !id.startsWith(PROBE))),
})

async function settle(kafka: Kafka): Promise<void> {
  say('every call is accepted; waiting until all records are settled')
  await kafka.untilSettled(SETTLE_MS)
}

await runProgram({ usage: USAGE, options, run: upgrade })
