import { expect, test } from 'vitest'
import { createSlices } from '../../process/slices.ts'

/** Only the test moves clock and event loop. */
function world() {
  let now = 0
  let resume: (() => void)[] = []
  const nextTurn = () => new Promise<void>((resolve) => void resume.push(resolve))
  return {
    slices: createSlices(() => now, nextTurn),
    work: (ms: number) => {
      now += ms
    },
    async turn() {
      await reactions()
      const all = resume
      resume = []
      for (const each of all) each()
      await reactions()
    },
  }
}

const reactions = () => new Promise(setImmediate)

test('a slice is used up after 50 ms, and the next turn has another', async () => {
  const { slices, work, turn } = world()
  expect(slices.isSpent()).toBe(false)
  work(49)
  expect(slices.isSpent()).toBe(false)
  work(1)
  expect(slices.isSpent()).toBe(true)
  await turn()
  expect(slices.isSpent()).toBe(false)
})

test('time without rules does not count', async () => {
  const { slices, work, turn } = world()
  slices.isSpent()
  await turn()
  work(1_000)
  expect(slices.isSpent()).toBe(false)
})

test('those who wait get one turn each, in order, with a slice of their own', async () => {
  const { slices, work, turn } = world()
  const ran: string[] = []
  const run = (name: string) =>
    slices.next().then(() => {
      ran.push(`${name} ${slices.isSpent()}`)
      work(60)
    })
  void run('first')
  void run('second')
  await turn()
  expect(ran).toEqual(['first false'])
  expect(slices.isSpent()).toBe(true)
  await turn()
  await turn()
  expect(ran).toEqual(['first false', 'second false'])
})
