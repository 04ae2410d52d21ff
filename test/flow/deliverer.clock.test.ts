import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import got from 'got'
import { expect, onTestFinished, test } from 'vitest'
import { DEAD, rungTopic } from '../../schemas/topics.ts'
import { findFaketime, openClock, thisMachine } from '../../torture/faketime.ts'
import { closing, ended } from '../helpers/cluster.ts'
import { aReceiver, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

const faketime = findFaketime(thisMachine)
const FOUR_DAYS_S = 4 * 24 * 3_600

test.skipIf(!faketime)(
  'a deliverer whose clock is four days behind loses no retry: retries wait for the right time, and other deliveries continue',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const clock = await openClock(faketime ?? '', join(folder, 'clock'))
    await clock.set(-FOUR_DAYS_S)
    const receiver = await aReceiver()
    receiver.answerWith(503)
    const sluice = closing(
      await startSystem({ RETRY_LADDER: '1s,1s,1s,2s,2s' }, ['ingest', 'router', 'control']),
    )
    // counts only this one
    Object.assign(sluice.env, clock.env)
    await sluice.start('deliverer')
    await sluice.destination('down', [`${receiver.url}/switch`])
    await sluice.destination('up', [`${receiver.url}/up`])
    const users = Array.from({ length: 20 }, (_, user) => ({ type: 'identify', userId: `u${user}` }))
    await sluice.send(users)
    const at = (path: string) => receiver.arrivals.filter((arrival) => arrival.path === path)
    await until(() => at('/switch').length > 0 && at('/up').length >= 20, {
      message: 'first POSTs are made',
    })
    const metrics = `http://127.0.0.1:${sluice.env.DELIVERER_PORT}/metrics`
    const stalled = async () =>
      Number(/^sluice_kafka_stalled_seconds (\S+)$/m.exec(await got(metrics).text())?.[1]) > 2
    await until(stalled, { message: 'the broker refuses its records' })
    const { connection } = sluice
    expect([await ended(connection, rungTopic('1s')), await ended(connection, DEAD)]).toEqual([0, 0])
    // although this process cannot write its failures
    await sluice.send([{ type: 'identify', userId: 'later' }])
    await until(() => at('/up').some(({ body }) => body.includes('"later"')), {
      message: 'another delivery arrives',
    })

    receiver.answerWith(200)
    await clock.set(0)
    const delivered = () =>
      new Set(at('/switch').flatMap(({ status, body }) => (status === 200 ? [body] : [])))
    await until(() => delivered().size === 21, {
      timeout: 60_000,
      message: () => `${delivered().size} of 21 arrived`,
    })
    expect(await ended(connection, DEAD)).toBe(0)
  },
  360_000,
)
