import { createRequire } from 'node:module'
import { expect, onTestFinished, test, vi } from 'vitest'
import '../../kafka/client.ts' // applies the patch
import { quiet } from '../helpers/kafkajs.ts'

const require = createRequire(import.meta.url)
const { Fetch } = require('kafkajs/src/protocol/requests').requests
const Broker = require('kafkajs/src/broker')

/** From Kafka's protocol guide. */
const UNKNOWN_SERVER_ERROR = -1
const CORRUPT_MESSAGE = 2
const NOT_LEADER = 6

const answerWith = (errorCode: number) => ({
  throttleTime: 0,
  responses: [
    {
      topicName: 'work',
      partitions: [
        { partition: 0, errorCode: 0 },
        { partition: 1, errorCode },
      ],
    },
  ],
})

const readable = [{ topicName: 'work', partitions: [{ partition: 0, errorCode: 0 }] }]

test.each<string>(Fetch.versions)(
  'a partition that the broker cannot read does not fail a fetch; other errors do (version %s)',
  async (version) => {
    const { parse } = Fetch.protocol({ version })({ topics: [] }).response
    for (const code of [CORRUPT_MESSAGE, UNKNOWN_SERVER_ERROR])
      expect(await parse(answerWith(code))).toEqual({
        throttleTime: 0,
        responses: readable,
        unreadable: ['work/1'],
      })
    await expect(parse(answerWith(NOT_LEADER))).rejects.toMatchObject({ type: 'NOT_LEADER_FOR_PARTITION' })
    const fine = { throttleTime: 0, responses: readable }
    expect(await parse(fine)).toBe(fine)
  },
)

type Asked = { topics: { topic: string; partitions: { partition: number }[] }[] }
type Request = { response: { parse(answer: object): Promise<object> } }

/** @returns a broker that cannot read partitions 1 and 2, the partitions it is asked for, and what it logs. */
function aBroker() {
  const asked: number[][] = []
  const logged: string[] = []
  const send = ({ response }: Request) => {
    const partitions = (asked.at(-1) ?? []).map((partition) => ({
      partition,
      errorCode: partition > 0 ? CORRUPT_MESSAGE : 0,
    }))
    return response.parse({ responses: [{ topicName: 'work', partitions }] })
  }
  const logger = { ...quiet, namespace: () => ({ error: (message: string) => void logged.push(message) }) }
  const broker = new Broker({ connectionPool: { host: 'kafka', port: 9092, send }, logger })
  const request = Fetch.protocol({ version: '11' })
  broker.lookupRequest = () => (options: Asked) => {
    asked.push(
      options.topics.flatMap(({ partitions }) => partitions.map(({ partition }) => partition)).toSorted(),
    )
    return request(options)
  }
  const fetch = (...partitions: number[]) =>
    broker.fetch({ topics: [{ topic: 'work', partitions: partitions.map((partition) => ({ partition })) }] })
  return { fetch, asked, logged }
}

test('a partition that the broker cannot read waits for a second, and others are fetched meanwhile', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { fetch, asked, logged } = aBroker()
  await fetch(0, 1)
  await fetch(0, 1)
  vi.advanceTimersByTime(999)
  await fetch(0, 1)
  expect(asked).toEqual([[0, 1], [0], [0]])
  vi.advanceTimersByTime(1)
  await fetch(0, 1)
  await fetch(0)
  expect(asked.slice(3)).toEqual([[0, 1], [0]])
  expect(logged).toEqual(
    Array.from({ length: 2 }, () => 'the broker cannot read these partitions, and they wait: work/1'),
  )
})

test('if a broker can read no partition, it is asked for none', async () => {
  const { fetch, asked } = aBroker()
  await fetch(1)
  expect(await fetch(1)).toEqual({ responses: [] })
  expect(asked).toEqual([[1]])
})

test('all partitions that the broker cannot read are named, also if only one was tried', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { fetch, asked, logged } = aBroker()
  await fetch(0, 1)
  vi.advanceTimersByTime(500)
  await fetch(0, 1, 2)
  expect(asked).toEqual([
    [0, 1],
    [0, 2],
  ])
  expect(logged[1]).toBe('the broker cannot read these partitions, and they wait: work/1,work/2')
})
