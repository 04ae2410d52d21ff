import { expect, onTestFinished, test } from 'vitest'
import { type BroadcastOptions, createBroadcast } from '../../../../control/activity/stream/broadcast.ts'
import { api, VIEW } from '../../api.ts'
import { aLagItem, lagHeld } from '../../lag-in-memory.ts'

function broadcast(current: BroadcastOptions['current'], more: Partial<BroadcastOptions> = {}) {
  const made = createBroadcast({ current, onSkipped: () => {}, everyMs: 5, ...more })
  onTestFinished(made.end)
  return made
}

function watch({ watch: begin }: ReturnType<typeof broadcast>) {
  const stream = begin()
  if (stream === 'too_many') throw new Error('there was no room')
  let text = ''
  stream.on('data', (chunk) => {
    text += chunk
  })
  return { stream, text: () => text.replace('retry: 2000\n\n', '') }
}

const lag = (count: number) => `event: lag\ndata: {"count":${count}}\n\n`

test('a new watcher gets the state at once, and again only when it changes', async () => {
  let asked = 0
  let count = 1
  const made = broadcast({
    lag: () => {
      asked += 1
      return { count }
    },
  })
  const first = watch(made)
  await expect.poll(first.text).toBe(lag(1))
  const before = asked
  await expect.poll(() => asked).toBeGreaterThan(before + 3)
  expect(first.text()).toBe(lag(1))
  count = 2
  const second = watch(made)
  await expect.poll(second.text).toContain(lag(2))
  await expect.poll(first.text).toBe(lag(1) + lag(2))
})

test('an unknown state is sent as unavailable, and sent once it is known', async () => {
  let data: object | undefined
  const { text } = watch(broadcast({ lag: () => data, ingest: () => ({ perSecond: 1 }) }))
  await expect
    .poll(text)
    .toBe('event: unavailable\ndata: {"event":"lag"}\n\nevent: ingest\ndata: {"perSecond":1}\n\n')
  data = { count: 3 }
  await expect.poll(text).toContain(lag(3))
})

test('without watchers nothing is computed', async () => {
  let asked = 0
  const made = broadcast({
    lag: () => {
      asked += 1
      return { count: asked }
    },
  })
  const { stream } = watch(made)
  stream.destroy()
  await expect.poll(made.watchers).toBe(0)
  const before = asked
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(asked).toBe(before)
})

test('the number of watchers is limited, and none may join after the end', async () => {
  const made = broadcast({ lag: () => ({}) }, { maxWatchers: 2 })
  const [first] = [watch(made), watch(made)]
  expect(made.watch()).toBe('too_many')
  first.stream.destroy()
  await expect.poll(made.watchers).toBe(1)
  const last = watch(made)
  made.end()
  await expect.poll(() => last.stream.readableEnded).toBe(true)
  expect(made.watch()).toBe('too_many')
})

test('the streams of lag and health send what their paths return, and end with the process', async () => {
  const rates = { perSecond: 1.5, rejectedPerSecond: 0, minutes: [{ at: 0, calls: 3, rejected: 1 }] }
  const latest = () => rates
  const ingestRate = { loaded: Promise.resolve(), isLoaded: () => true, latest, calls: () => undefined }
  const { ask, app, close } = api({}, { ...lagHeld([aLagItem()]), ingestRate })
  await app.ready()
  const told = (text: string) =>
    new Map(
      text
        .split('\n\n')
        .flatMap((message) =>
          [/^event: (\w+)\ndata: (.*)$/.exec(message) ?? []].flat().length ? [message] : [],
        )
        .map((message) => {
          const [, event = '', data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(message) ?? []
          return [event, JSON.parse(data)] as const
        }),
    )
  const asking = [
    ask({ url: '/api/lag/stream', token: VIEW }),
    ask({ url: '/api/health/stream', token: VIEW }),
  ]
  const lagJson = (await ask({ url: '/api/lag' })).json
  const healthJson = (await ask({ url: '/api/health' })).json
  const ingestJson = (await ask({ url: '/api/ingest' })).json
  expect(ingestJson).toEqual({
    ...rates,
    minutes: [{ at: '1970-01-01T00:00:00.000Z', calls: 3, rejected: 1 }],
  })
  await close()
  const [lagStream, healthStream] = await Promise.all(asking)
  expect(lagStream).toMatchObject({
    status: 200,
    headers: { 'content-type': 'text/event-stream; charset=utf-8' },
  })
  expect(told(lagStream?.text ?? '')).toEqual(
    new Map([
      ['lag', lagJson],
      ['ingest', ingestJson],
    ]),
  )
  expect(told(healthStream?.text ?? '')).toEqual(
    new Map([
      ['health', healthJson],
      ['ingest', ingestJson],
    ]),
  )
})

test('a HEAD request of a stream gets only the headers', async () => {
  const { ask } = api({}, lagHeld())
  for (const url of ['/api/lag/stream', '/api/health/stream'])
    expect(await ask({ url, method: 'HEAD' })).toMatchObject({ status: 200, text: '' })
})
