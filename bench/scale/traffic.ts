import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'

/** Answers soon, never, with 503, or 200 after 2 s. */
export type Kind = 'fine' | 'silent' | 'failing' | 'slow'
/** `origin`: its host, which others may share. */
export type Receiver = { webhook: string; origin: string; kind: Kind }

/** From 0 to 1; the same seed gives the same numbers. */
export function createRandom(seed: number): () => number {
  const generator = xoroshiro128plus(seed)
  return () => (generator.next() >>> 0) / 2 ** 32
}

/** Half of those in trouble hang, a quarter fail and a quarter are slow. */
const KINDS: readonly Kind[] = ['silent', 'silent', 'failing', 'slow']

export const createReceivers = (count: number): Receiver[] =>
  Array.from({ length: count }, (_, index) => ({
    webhook: `d${index} 0 http://r${index}/`,
    origin: `http://r${index}`,
    kind: 'fine',
  }))

/** On one host, each of a different destination. */
export const createNeighbours = (count: number): Receiver[] =>
  Array.from({ length: count }, (_, index) => ({
    webhook: `shared${index} 0 http://shared/${index}`,
    origin: 'http://shared',
    kind: 'fine',
  }))

/** A random share of the receivers, at once. */
export function putInTrouble(receivers: readonly Receiver[], share: number, random: () => number): void {
  for (const receiver of receivers)
    if (random() < share) receiver.kind = KINDS[Math.floor(random() * KINDS.length)] ?? 'fine'
}

/** Picks an index, the n-th 1/n times as often as the first (Zipf). */
export function heavyTailed(count: number, random: () => number): () => number {
  const sums = new Float64Array(count)
  let sum = 0
  for (let index = 0; index < count; index++) {
    sum += 1 / (index + 1)
    sums[index] = sum
  }
  return () => {
    const target = random() * sum
    let [low, high] = [0, count - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((sums[middle] ?? 0) < target) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Time between independent events (exponential distribution). */
export const exponential = (mean: number, random: () => number) => -mean * Math.log(1 - random())
