import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import '../../kafka/client.ts' // applies the patch
import { IDLE_WAIT_MS, setFetchWait } from '../../kafka/patches/consumer/fetch-wait.ts'
import { aFetchingMember, aQueue, aRequest, runnerOf, withCoordinator } from '../helpers/kafkajs.ts'

function member(groupId: string) {
  const fetch = vi.fn(async (_: object) => ({ responses: [] }))
  return { group: aFetchingMember(groupId, fetch), fetch }
}

test('each fetch of a group waits as chosen then, depending on whether a partition is paused', async () => {
  const { group, fetch } = member('lane')
  onTestFinished(setFetchWait('lane', (isPaused) => ({ maxWaitTime: isPaused ? 25 : 250 })))
  await group.fetch('1')
  expect(fetch).toHaveBeenLastCalledWith(expect.objectContaining({ maxWaitTime: 250, minBytes: 7 }))
  group.pause([{ topic: 'work', partitions: [0] }])
  await group.fetch('1')
  expect(fetch).toHaveBeenLastCalledWith(expect.objectContaining({ maxWaitTime: 25 }))
  group.resume([{ topic: 'work', partitions: [0] }])
  await group.fetch('1')
  expect(fetch).toHaveBeenLastCalledWith(expect.objectContaining({ maxWaitTime: 250 }))
})

test('other groups keep their wait, and so does a group after its choice is undone', async () => {
  setFetchWait('lane', () => ({ maxWaitTime: 1, minBytes: 1 }))()
  for (const groupId of ['lane', 'other']) {
    const { group, fetch } = member(groupId)
    await group.fetch('1')
    expect(fetch).toHaveBeenLastCalledWith(expect.objectContaining({ maxWaitTime: 70, minBytes: 7 }))
  }
})

describe('with all partitions paused', () => {
  const all = [{ topic: 'work', partitions: [0, 1] }]

  test('a member looks for work only now and then', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { group, fetch } = member('paused')
    onTestFinished(setFetchWait('paused', () => ({ maxWaitTime: 25 })))
    group.pause(all)
    const looked = vi.fn()
    void group.fetch('1').then(looked)
    await vi.advanceTimersByTimeAsync(IDLE_WAIT_MS - 1)
    expect(looked).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(looked).toHaveBeenCalledOnce()
    expect(fetch).not.toHaveBeenCalled()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('a member fetches as soon as one is resumed, however long it has waited', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { group, fetch } = member('paused')
    onTestFinished(setFetchWait('paused', () => ({ maxWaitTime: IDLE_WAIT_MS })))
    group.pause(all)
    void runnerOf(group).fetchManager.start()
    for (const waited of [IDLE_WAIT_MS / 2, IDLE_WAIT_MS]) await vi.advanceTimersByTimeAsync(waited)
    fetch.mockReturnValueOnce(new Promise(() => {}))
    group.resume([{ topic: 'work', partitions: [1] }])
    await nextTurn()
    expect(fetch).toHaveBeenCalledOnce()
  })
})

describe('a consumer that stops', () => {
  /** Its fetches wait at a broker that does not answer. */
  function running(brokers = () => ['1']) {
    const queue = aQueue()
    const answers: PromiseWithResolvers<object>[] = []
    const fetch = vi.fn((_: object) => {
      const answer = Promise.withResolvers<object>()
      const { resolve, reject } = answer
      answers.push(answer)
      queue.push({
        ...aRequest(answers.length),
        entry: { ...aRequest(answers.length).entry, resolve, reject },
      })
      return answer.promise
    })
    const group = aFetchingMember('stopping', fetch)
    const connection = { rejectRequests: (error: Error) => queue.rejectAll(error) }
    group.cluster.getNodeIds = brokers
    group.cluster.brokerPool.brokers = { 1: { connectionPool: { pool: [{}, connection] } } }
    const runner = runnerOf(group)
    return { group, runner, queue, answers, fetch, fetches: runner.fetchManager.start() as Promise<void> }
  }

  test('waits for no answer to a fetch, and leaves none in flight: its connections close at once', async () => {
    const { runner, queue, fetch, fetches } = running()
    await nextTurn()
    expect(fetch).toHaveBeenCalledOnce()
    await runner.stop()
    await fetches
    expect(queue.inflight.size).toBe(0)
  })

  test('waits no longer for a partition to be resumed, or to get one from a broker that leads none', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { group, fetch } = member('paused')
    group.filterPartitionsByNode = () => []
    const runner = runnerOf(group)
    const fetches = runner.fetchManager.start()
    await nextTurn()
    await runner.stop()
    await fetches
    expect(fetch).not.toHaveBeenCalled()
  })

  test('fetches nothing more once it has waited for more records', async () => {
    const { group, fetch } = member('paced')
    onTestFinished(setFetchWait('paced', () => ({ paceMs: 50 })))
    fetch.mockResolvedValueOnce(answered(3) as never)
    await group.fetch('1')
    const next = group.fetch('1')
    await runnerOf(group).stop()
    await next
    expect(fetch).toHaveBeenCalledOnce()
  })

  test('stops also when its brokers have just changed', async () => {
    let brokers = ['1', '2']
    let asked = 0
    const { runner, answers, fetches } = running(() => {
      // otherwise it would ask in the same turn for ever
      if (++asked > 100) throw new Error('it asks for its brokers again and again')
      return brokers
    })
    const ended = expect(fetches).rejects.toThrow('the consumer stops')
    await nextTurn()
    brokers = ['1']
    answers[1]?.resolve({ responses: [] })
    await nextTurn()
    await runner.stop()
    await ended
  })

  test('does not join again when a fetch fails meanwhile', async () => {
    const { group, runner, answers } = running()
    const join = vi.spyOn(group, 'joinAndSync').mockResolvedValue(undefined)
    await nextTurn()
    const stopping = runner.stop()
    answers[0]?.reject(unknownTopic())
    await stopping
    await nextTurn()
    expect(join).not.toHaveBeenCalled()
  })

  test('first ends a join that a fetch has begun, then leaves: the join would outlive it', async () => {
    const { group, runner, answers } = running()
    const done: string[] = []
    const joining = Promise.withResolvers<void>()
    vi.spyOn(group, 'joinAndSync').mockImplementation(() =>
      joining.promise.then(() => void done.push('joined')),
    )
    vi.spyOn(group, 'leave').mockImplementation(async () => void done.push('left'))
    await nextTurn()
    answers[0]?.reject(unknownTopic())
    await nextTurn()
    const stopping = runner.stop()
    await nextTurn()
    joining.resolve()
    await stopping
    expect(done).toEqual(['joined', 'left'])
  })

  test('leaves also a group that it was joining for the first time: it would stay in it', async () => {
    const { group } = member('restarted')
    const coordinator = withCoordinator(group)
    const { joinGroup } = coordinator
    const joined = Promise.withResolvers<void>()
    coordinator.joinGroup = () => joined.promise.then(joinGroup)
    const left = vi.spyOn(coordinator, 'leaveGroup')
    const runner = Object.assign(runnerOf(group), { running: false })
    void runner.start()
    await nextTurn()
    const stopping = runner.stop()
    await nextTurn()
    joined.resolve()
    await stopping
    expect(left).toHaveBeenCalledWith({ groupId: 'restarted', memberId: 'me' })
    expect(runner.running).toBe(false)
  })

  test('joins no group if it is still connecting: nobody would stop it then, and its partitions would wait for ever', async () => {
    const { group, fetch } = member('connecting')
    fetch.mockReturnValue(new Promise(() => {}))
    const joinGroup = vi.spyOn(withCoordinator(group), 'joinGroup')
    const connected = Promise.withResolvers<void>()
    Object.assign(group.cluster, { connect: () => connected.promise })
    const onCrash = vi.fn()
    const runner = Object.assign(runnerOf(group), { running: false, onCrash })
    const started = runner.start()
    await runner.stop()
    connected.resolve()
    await started
    expect(joinGroup).not.toHaveBeenCalled()
    // then kafkajs disconnects it again
    expect(onCrash).toHaveBeenCalledWith(expect.objectContaining({ message: 'the consumer stops' }))
  })

  test('at any moment of its start leaves its group, and does not fetch for ever in the same turn', async () => {
    for (let moment = 0; moment < 100; moment++) {
      let asked = 0
      const { group, fetch } = member('starting')
      fetch.mockImplementation(() => nextTurn({ responses: [] }))
      Object.assign(group.cluster, {
        connect: async () => {},
        getNodeIds() {
          if (++asked > 100)
            throw new Error(`stopped at moment ${moment}, it fetches in the same turn for ever`)
          return ['1']
        },
      })
      const coordinator = withCoordinator(group)
      const [joins, leaves] = [vi.spyOn(coordinator, 'joinGroup'), vi.spyOn(coordinator, 'leaveGroup')]
      const onCrash = vi.fn()
      const runner = Object.assign(runnerOf(group), { running: false, onCrash })
      const started = runner.start()
      for (let each = 0; each < moment; each++) await undefined
      await runner.stop()
      await started
      await nextTurn()
      const crashes = onCrash.mock.calls.flat().filter(({ message }) => message !== 'the consumer stops')
      const left = joins.mock.calls.length - leaves.mock.calls.length
      expect({ moment, crashes, left, running: runner.running }).toEqual({
        ...{ moment, crashes: [], left: 0, running: false },
      })
    }
  })
})

const unknownTopic = () => Object.assign(new Error('no such topic'), { type: 'UNKNOWN_TOPIC_OR_PARTITION' })

const message = { offset: '0', timestamp: '0', key: null, value: null, headers: {} }
const answered = (records: number) => {
  const messages = Array.from({ length: records }, () => message)
  return { responses: [{ topicName: 'work', partitions: [{ partition: 0, highWatermark: '0', messages }] }] }
}

describe('after a fetch of few records', () => {
  function paced(records: number) {
    const fetch = vi.fn(async (_: object) => answered(records))
    onTestFinished(setFetchWait('paced', () => ({ paceMs: 500 })))
    return { group: aFetchingMember('paced', fetch), fetch }
  }

  test('the next one of the same broker waits, while other brokers are asked', async () => {
    const { group, fetch } = paced(3)
    await group.fetch('1')
    const next = group.fetch('1')
    await group.fetch('2')
    expect(fetch).toHaveBeenCalledTimes(2)
    await next
    expect(fetch).toHaveBeenCalledTimes(3)
  })

  test('the next one waits as chosen when it starts', async () => {
    const { group, fetch } = paced(3)
    onTestFinished(setFetchWait('paced', (isPaused) => ({ paceMs: 50, maxWaitTime: isPaused ? 25 : 250 })))
    await group.fetch('1')
    const next = group.fetch('1')
    group.pause([{ topic: 'work', partitions: [0] }])
    await next
    expect(fetch).toHaveBeenLastCalledWith(expect.objectContaining({ maxWaitTime: 25 }))
  })

  test.each([0, 50])('it does not wait if the last one had %s', async (records) => {
    const { group, fetch } = paced(records)
    await group.fetch('1')
    const next = group.fetch('1')
    await nextTurn()
    expect(fetch).toHaveBeenCalledTimes(2)
    await next
  })
})
