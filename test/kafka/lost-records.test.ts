import { expect, test, vi } from 'vitest'
import { createLossWriter, type Loss } from '../../kafka/admin/lost-records.ts'

const loss = (partition: number): Loss => ({
  ...{ at: 0, topic: 'events', partition, cause: 'truncated', seenBy: 'router' },
  ...{ offset: 9, to: 5, lost: 4, unread: 0 },
})

/** `answer` ends the request that waits. */
function kafka() {
  const sent: number[][] = []
  let answer: (error?: Error) => void = () => {}
  const warned: string[] = []
  const log = { warn: (_: object, text: string) => void warned.push(text) }
  const send = (losses: readonly Loss[]) => {
    sent.push(losses.map(({ partition }) => partition))
    return new Promise<void>((resolve, reject) => {
      answer = (error) => (error ? reject(error) : resolve())
    })
  }
  const write = createLossWriter(send, log as never)
  return { write, sent, warned, answer: (error?: Error) => answer(error) }
}

test('losses that come during a request are written together in the next one', async () => {
  const { write, sent, answer } = kafka()
  for (const partition of [1, 2, 3]) write(loss(partition))
  answer()
  await vi.waitFor(() => expect(sent).toEqual([[1], [2, 3]]))
})

test('a loss that comes as a request ends is written too', async () => {
  for (let turns = 0; turns < 8; turns++) {
    const { write, sent, answer } = kafka()
    write(loss(1))
    answer()
    for (let turn = 0; turn < turns; turn++) await undefined
    write(loss(2))
    await vi.waitFor(() => expect(sent.flat()).toEqual([1, 2]))
  }
})

test('a failed request is repeated, together with newer losses', async () => {
  const { write, sent, answer } = kafka()
  write(loss(1))
  write(loss(2))
  answer(new Error('Kafka is away'))
  await vi.waitFor(() => expect(sent).toEqual([[1], [1, 2]]), { timeout: 30_000 })
})

test('at most 1,000 losses wait', async () => {
  const { write, sent, warned, answer } = kafka()
  for (let partition = 0; partition < 1_002; partition++) write(loss(partition))
  expect(warned).toHaveLength(2)
  answer()
  await vi.waitFor(() => expect(sent[1]).toHaveLength(999))
})
