import type { Replay } from '../../../schemas/task.ts'
import { type DeadLetter, matchesConditions } from './dead-letter.ts'

/**
 * Which dead letters a replay selects. With `skipReplayed`, it does not send those that an earlier one has sent. A
 * cancelled replay selects only the letters that it has read.
 */
export function selectedBy(replay: Replay): (letter: DeadLetter) => boolean {
  const { places, from, to, ranges, done, destinationId, reason, event, user, status } = replay
  const rangeOf = new Map((done ?? ranges).map((range) => [range.partition, range]))
  const isInRange = ({ partition, offset }: DeadLetter) => {
    const range = rangeOf.get(partition)
    return range !== undefined && offset >= range.from && offset < range.to
  }
  if (places) {
    const chosen = new Set(places.map(({ partition, offset }) => `${partition}/${offset}`))
    return (letter) => chosen.has(`${letter.partition}/${letter.offset}`) && (!done || isInRange(letter))
  }
  const [since, until] = [Date.parse(from), Date.parse(to)]
  const matches = matchesConditions({ destinationId, reason, event, user, status })
  return (letter) => {
    // record times may be out of order, so the offset of a time only says where to start
    if (letter.writtenAt < since || letter.writtenAt >= until) return false
    return isInRange(letter) && matches(letter)
  }
}

export type ReplayOf = (letter: DeadLetter) => Replay | undefined

/**
 * The latest replay that sent a dead letter, according to the tasks, which outlive dead letters. Failed replays do not
 * count, nor what a cancelled one did not reach.
 * @param before only replays created before this one count.
 */
export function replayIndex(replays: Iterable<Replay>, before?: Replay): ReplayOf {
  const sent = [...replays]
    .filter(
      ({ what, state, done }) => what === 'dead' && state !== 'failed' && (state !== 'cancelled' || done),
    )
    .filter((each) => !before || comesBefore(each, before))
    .sort((a, b) => (comesBefore(a, b) ? 1 : -1))
    .map((replay) => ({ replay, selects: selectedBy(replay) }))
  const byDestination = Map.groupBy(sent, ({ replay }) => replay.destinationId)
  return (letter) => {
    let found: Replay | undefined
    for (const { replay, selects } of byDestination.get(letter.destinationId) ?? [])
      if (selects(letter)) {
        found = replay
        // an earlier replay may be the one that sent it
        if (!replay.skipReplayed) break
      }
    return found
  }
}

/** Keeps an index until a replay starts, ends, or says how far it got. */
export function rememberedReplayIndex(): (replays: Iterable<Replay>) => ReplayOf {
  let [known, index]: [string, ReplayOf] = ['', () => undefined]
  return (replays) => {
    const all = [...replays]
    const current = all.map(({ id, state, done }) => `${id} ${state} ${done ? 'in part' : ''}`).join()
    if (current === known) return index
    const replayOf = replayIndex(all)
    const found = new WeakMap<DeadLetter, Replay | null>()
    known = current
    index = (letter) => {
      const before = found.get(letter)
      if (before !== undefined) return before ?? undefined
      const replay = replayOf(letter)
      found.set(letter, replay ?? null)
      return replay
    }
    return index
  }
}

const comesBefore = (one: Replay, other: Replay) =>
  one.createdAt < other.createdAt || (one.createdAt === other.createdAt && one.id < other.id)
