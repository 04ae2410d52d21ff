import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { run as runHere } from '../../cli/run.ts'
import { aContext } from '../cli/in-memory.ts'
import { startOwnBroker } from '../helpers/broker.ts'
import { type Receiver, startReceiver } from '../helpers/receiver.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

/** docs/guides/backup.md, "Move to another Kafka cluster", step by step, with a broker for each cluster. */

const PROGRAM = fileURLToPath(new URL('../../cli/sluice', import.meta.url))
const KEY = 'web-write-key'
const SECRET = 'the old secret'
// Deliveries wait on a rung while the new cluster takes over. Few first attempts fail: an open breaker would hold them
// for several rungs.
const RETRY_LADDER = '3s,3s,3s'

type Ended = { code: number | string; out: string; err: string }

const operator = ({ control, env }: System) => ({
  SLUICE_URL: control,
  CONTROL_TOKEN: String(env.CONTROL_TOKEN),
})

const run = (system: System, ...args: string[]): Promise<Ended> =>
  new Promise((resolve) => {
    const env = { PATH: '/usr/bin:/bin', ...operator(system) }
    execFile(PROGRAM, args, { env }, (error, out, err) => resolve({ code: error?.code ?? 0, out, err }))
  })

const track = (messageId: string, userId = 'u1') => ({ type: 'track', userId, event: 'Paid', messageId })

let folder: string
let file: string
let receiver: Receiver
let broker: Awaited<ReturnType<typeof startOwnBroker>>
let old: System
let fresh: System

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-backup-'))
  file = join(folder, 'sluice.backup')
  receiver = await startReceiver()
  ;[broker, old] = await Promise.all([startOwnBroker(), startSystem({ RETRY_LADDER })])
  const { brokers } = broker.now
  fresh = await startSystem(
    { KAFKA_BROKERS: brokers, TOPIC_PREFIX: old.env.TOPIC_PREFIX ?? '', RETRY_LADDER },
    ['control'],
  )
})

afterAll(async () => {
  await Promise.all([old?.close(), fresh?.close()])
  await Promise.all([broker?.close(), receiver?.close(), rm(folder, { recursive: true, force: true })])
})

const arrived = (messageId: string) =>
  receiver.arrivals.filter(({ headers }) => headers['x-message-id'] === messageId)
const ids = (prefix: string) => Array.from({ length: 40 }, (_, index) => `${prefix}-${index}`)

/** `sluice lag --json` says for ten seconds that no event, delivery or retry waits. */
async function drained(system: System): Promise<void> {
  let since: number | undefined
  const isDrained = async () => {
    // asked often: a process for each answer would cost more than all else here
    const context = aContext({ env: operator(system) })
    await runHere(['lag', '--json'], context)
    const { items, at } = JSON.parse(context.out.text())
    const isEmpty = items.every(
      ({ group, lag }: { group: string; lag: number }) => group === 'control.tasks' || lag === 0,
    )
    since = isEmpty ? (since ?? Date.parse(at)) : undefined
    return since !== undefined && Date.parse(at) >= since + 10_000
  }
  await until(isDrained, { timeout: 120_000 })
}

describe('a move to another cluster', () => {
  test('begins with a backup of the old system, which holds no secret in clear', async () => {
    await old.api('post', 'sources', { id: 'web', name: 'Web', writeKey: KEY, labels: { team: 'growth' } })
    await old.api('post', 'audiences', { id: 'vip', name: 'VIP', sourceId: 'web' })
    await old.destination('crm', [`${receiver.url}/tenth`], {
      sourceIds: ['web'],
      sharedSecret: SECRET,
      rules: { redact: [{ path: 'properties.email', as: 'hash' }] },
    })
    await old.send([track('before', 'gone')], KEY)
    await until(() => arrived('before').length > 0)
    const deleting = { id: 'd1', userIds: ['gone'], suppress: true }
    expect((await old.api('post', 'deletions', deleting)).status).toBe(202)
    await until(async () => (await old.api('get', 'deletions/d1')).body.state === 'done')
    expect(await run(old, 'backup', '-o', file)).toMatchObject({
      code: 0,
      err: expect.stringMatching(
        /^Wrote .*: suppressions 1, audiences 1, .* deletions 1\.\nNot in a backup: events/,
      ),
    })
    const text = await readFile(file, 'utf8')
    for (const secret of [KEY, SECRET]) expect(text).not.toContain(secret)
    expect((await stat(file)).mode & 0o077).toBe(0)
    expect(await run(old, 'backup', '-o', file)).toMatchObject({ code: 1 })
  })

  test('refuses a backup that was altered', async () => {
    const altered = join(folder, 'altered.backup')
    await writeFile(altered, (await readFile(file, 'utf8')).replace('growth', 'groWth'))
    const { code, err } = await run(fresh, 'restore', altered)
    expect([code, err]).toEqual([1, expect.stringContaining('(400 backup_altered)')])
  })

  test('restores it into the new system, where control runs alone', async () => {
    const dry = await run(fresh, 'restore', file, '--dry-run')
    expect(dry).toMatchObject({ code: 0, out: expect.stringContaining('Dry run: nothing was changed.') })
    expect((await fresh.api('get', 'sources/web')).status).toBe(404)
    expect(await run(fresh, 'restore', file)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/Restored\.\n$/),
    })
    expect((await fresh.api('get', 'sources/web')).body).toMatchObject({
      writeKey: KEY,
      labels: { team: 'growth' },
    })
    const again = await run(fresh, 'restore', file, '--json')
    expect(JSON.parse(again.out)).toMatchObject({ changes: [], needsForce: false })
    for (const role of ['ingest', 'router', 'deliverer'] as const) await fresh.start(role)
  }, 360_000)

  test('lets both systems accept calls while clients change over, with the same write key', async () => {
    await old.send([...ids('old').map((id) => track(id)), track('twice')], KEY)
    await old.stop('ingest')
    await fresh.send([...ids('new').map((id) => track(id)), track('twice'), track('dropped', 'gone')], KEY)
    await until(() => [...ids('old'), ...ids('new')].every((id) => arrived(id).length > 0))
  })

  test('ends when the old system has nothing left: every call is delivered, retries too', async () => {
    await Promise.all([drained(old), drained(fresh)])
    await old.close()
    const all = [...ids('old'), ...ids('new')].map((id) => ({
      id,
      attempts: arrived(id).map(({ headers, status }) => `${headers['x-attempt']}: ${status}`),
    }))
    const retried = all.filter(({ attempts }) => attempts[0] === '1: 503')
    expect(retried).not.toEqual([])
    for (const { id, attempts } of all)
      expect(attempts, id).toEqual(attempts[0] === '1: 503' ? ['1: 503', '2: 200'] : ['1: 200'])
  })

  test('keeps the secret that signs', () => {
    for (const { body, headers } of arrived('new-0')) {
      const expected = createHmac('sha1', SECRET).update(body).digest('hex')
      expect(headers['x-signature']).toBe(expected)
    }
  })

  test('keeps users suppressed', () => {
    expect(arrived('dropped')).toEqual([])
  })

  test('gives a call that a client sent to both the same delivery id', () => {
    const deliveries = arrived('twice').map(({ headers }) => headers['x-delivery-id'])
    expect(new Set(deliveries).size).toBe(1)
  })
})
