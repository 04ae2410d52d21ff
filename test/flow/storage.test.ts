import { spawnSync } from 'node:child_process'
import { statfsSync } from 'node:fs'
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import got from 'got'
import { expect, onTestFinished, test } from 'vitest'
import { createProducer } from '../../kafka/produce/produce.ts'
import { startBroker } from '../../local/kafka/broker.ts'
import { archiveFlags } from '../../local/kafka/class-archive.ts'
import { cacheFolder, kafkaJars } from '../../local/kafka/downloads.ts'
import { findJava } from '../../local/kafka/java.ts'
import { closing } from '../helpers/cluster.ts'
import { aReceiver, type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

const MB = 1024 ** 2

async function aSystem(settings: Record<string, string>) {
  const receiver = await aReceiver()
  const sluice = closing(await startSystem(settings))
  await sluice.destination('crm', [`${receiver.url}/`])
  const accepted: string[] = []
  let sent = 0

  async function call() {
    const messageId = `m-${++sent}`
    const answer = await got.post(`${sluice.ingest}/v1/track`, {
      json: { userId: 'u1', event: 'Asked', messageId },
      username: 'shop-write-key',
      throwHttpErrors: false,
      retry: { limit: 0 },
    })
    if (answer.statusCode === 200) accepted.push(messageId)
    return answer
  }
  const answers = (status: number) =>
    until(async () => (await call()).statusCode === status, {
      message: `calls are answered with ${status}`,
    })
  const posts = (path: string) => receiver.arrivals.filter((arrival) => arrival.path === path)
  const ids = () => new Set(posts('/').map(({ headers }) => String(headers['x-message-id'])))
  const haveAllArrived = () => new Set(accepted).isSubsetOf(ids())
  const allArrived = () => until(haveAllArrived, { message: 'each accepted call has arrived' })
  return { sluice, receiver, posts, call, answers, allArrived, accepted }
}

/** What control's metrics say of the group that moves retries. */
async function rungMetrics({ control }: System): Promise<string[]> {
  const metrics = await got(`${control}/metrics`).text()
  return metrics.split('\n').filter((line) => line.includes('consumergroup="deliverer.rungs"'))
}

/** How late the oldest retry is, in seconds. */
async function lateness(sluice: System): Promise<number> {
  const ages = (await rungMetrics(sluice)).filter((line) =>
    line.startsWith('kafka_consumergroup_lag_seconds'),
  )
  return Math.max(0, ...ages.map((line) => Number(line.split('} ')[1])))
}

async function toldBy({ env, api }: System) {
  const ops = `http://127.0.0.1:${env.INGEST_METRICS_PORT}`
  const ready = await got(`${ops}/readyz`, { throwHttpErrors: false, retry: { limit: 0 } })
  const metrics = await got(`${ops}/metrics`).text()
  return {
    ready: `${ready.statusCode} ${ready.body}`,
    full: /^sluice_storage_full (\d)$/m.exec(metrics)?.[1],
    problems: (await api('get', 'status')).body.problems as { code: string; message: string }[],
  }
}

test('at STORAGE_LIMIT calls are refused, retries wait, and nothing is deleted; below it both resume, and each accepted call arrives', async () => {
  // retries go on for longer than a slow machine needs to notice that the storage is full
  const settings = { STORAGE_LIMIT: '40MB', RETRY_LADDER: '1s,2s,3s,4s,5s,6s' }
  const { sluice, receiver, posts, call, answers, allArrived } = await aSystem(settings)
  receiver.behave('/down', '/status/503')
  await sluice.destination('down', [`${receiver.url}/down`])
  await answers(200)
  await until(() => posts('/down').length > 0)
  // fills the disk, and can be removed at once
  const { kafka, named } = sluice.connection
  const admin = kafka.admin()
  await admin.connect()
  onTestFinished(() => admin.disconnect())
  // the producer waits for its leader
  await admin.createTopics({ topics: [{ topic: named('filler'), numPartitions: 1 }], waitForLeaders: false })
  const producer = closing(await createProducer(sluice.connection))
  const value = Buffer.alloc(900_000)
  for (let filled = 0; filled < 40 * MB; filled += value.length) {
    expect(await producer.produce([{ topic: 'filler', key: 'k', value }])).toBe('acked')
    await call() // accepted until it is full, so the latest retries begin then
  }
  await answers(503)
  const refused = await call()
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '30'])
  expect(JSON.parse(refused.body)).toMatchObject({ code: 'storage_full' })
  await until(async () => (await toldBy(sluice)).problems.some(({ code }) => code === 'storage_full'))
  expect(await toldBy(sluice)).toEqual({
    ready: "503 Sluice's topics have almost reached STORAGE_LIMIT\n",
    full: '1',
    problems: [
      expect.objectContaining({ code: 'storage_full', message: expect.stringContaining('STORAGE_LIMIT') }),
    ],
  })
  // what was taken before is delivered all the same
  await allArrived()
  // no rung is longer than 6 s
  const waiting = async () => (await lateness(sluice)) > 3
  await until(waiting, { message: 'retries wait' }).catch(async (error) => {
    throw new Error([error.message, posts('/down').length, ...(await rungMetrics(sluice))].join('\n'))
  })
  const { length } = posts('/down')
  receiver.behave('/down', '/status/200')
  await until(async () => (await lateness(sluice)) > 5)
  expect(posts('/down')).toHaveLength(length)
  await admin.deleteTopics({ topics: [named('filler')] })
  await answers(200)
  await until(async () => (await toldBy(sluice)).problems.length === 0)
  expect(await toldBy(sluice)).toEqual({ ready: '200 ok\n', full: '0', problems: [] })
  await allArrived()
  await until(() => posts('/down').some(({ status }) => status === 200), { message: 'retries continue' })
})

/** Undefined if the tests' user may not mount one. */
async function smallDisk(megabytes: number): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  const options = ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]
  const isMounted = process.platform === 'linux' && spawnSync('mount', options).status === 0
  onTestFinished(async () => {
    // the broker may still hold it for a moment
    if (isMounted) await until(() => spawnSync('umount', [folder]).status === 0)
    await rm(folder, { recursive: true, force: true })
  })
  return isMounted ? folder : undefined
}

test('an almost full disk is reported before Kafka dies of it; with free space it starts and all continues', async (context) => {
  const disk = await smallDisk(256)
  if (disk === undefined) return context.skip('no disk can be mounted here')
  const cache = await cacheFolder(process.env)
  const java = await findJava(process.env)
  const options = {
    directory: join(disk, 'kafka'),
    java: java.program,
    jars: await kafkaJars(cache, () => undefined),
    jvmFlags: await archiveFlags({ java, cache, name: 'kafka' }),
  }
  let broker = await startBroker(options)
  onTestFinished(() => void broker.kill())
  const { sluice, answers, allArrived, accepted } = await aSystem({ KAFKA_BROKERS: broker.brokers })
  await answers(200)
  // others fill the disk
  const ballast = join(disk, 'ballast')
  const free = () => {
    const { bavail, bsize } = statfsSync(disk)
    return bavail * bsize
  }
  await writeFile(ballast, Buffer.alloc(free() - 15 * MB))
  await answers(503)
  expect(await toldBy(sluice)).toMatchObject({ ready: "503 Kafka's disk is almost full\n", full: '1' })
  expect(broker.pid).toBeGreaterThan(0)
  await allArrived()

  // until nothing is left; without room, Kafka may end before the first record
  const producer = await createProducer(sluice.connection)
  onTestFinished(() => producer.close(0))
  await writeFile(ballast, Buffer.alloc(15 * MB), { flag: 'a' }).catch(() => undefined)
  const value = Buffer.alloc(900_000)
  let written = 0
  for (let outcome = 'acked'; outcome === 'acked'; written++)
    outcome = await producer.produce([{ topic: 'events.rejected', key: 'k', value }], { deadlineMs: 5_000 })
  expect(written).toBeLessThan(20)
  await until(async () => await Promise.race([broker.exited, false]), { message: 'Kafka has ended' })
  await expect(broker.restart()).rejects.toMatchObject({
    code: 'disk_full',
    message: expect.stringMatching(/^The disk of .* has \d+ MB free, and Kafka needs 64 MB to start\./),
  })

  await truncate(ballast, 0)
  broker = await broker.restart()
  const before = accepted.length
  await answers(200)
  expect(accepted.length).toBeGreaterThan(before)
  await allArrived()
})
