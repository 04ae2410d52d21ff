import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { verifyBackup } from '../../control/backup/backup-file.ts'
import { taskRecord } from '../../control/tasks/task-table.ts'
import { keysFor } from '../../settings/config-key.ts'
import type { Computation, Destination, Source, Suppression } from '../../settings/settings.ts'
import { suppressionId } from '../../settings/suppression-list.ts'
import { ADMIN, api, VIEW } from './api.ts'
import { crm, keys, now, opened, shop } from './in-memory.ts'
import { aDeletion, tasksInMemory } from './tasks-in-memory.ts'

const suppressed = (userId: string): Suppression => ({
  id: suppressionId({ sourceId: '*', userId }),
  sourceId: '*',
  userId,
  version: 1,
  updatedAt: now,
})
const vip: Computation = {
  id: 'vip',
  name: 'VIP',
  sourceId: 'shop',
  key: 'vip',
  createdAt: now,
  lastSyncAt: now,
  version: 1,
  updatedAt: now,
}
const records = () => ({
  sources: [shop],
  destinations: [crm],
  suppressions: [suppressed('gone')],
  audiences: [vip],
})

type Api = ReturnType<typeof api>

const headers = { 'content-type': 'text/plain' }
const restore = ({ ask }: Api, body: string, query = '') =>
  ask({ method: 'POST', url: `/api/restore${query}`, body, headers })

async function backupOf({ ask }: Api): Promise<string> {
  const { status, text } = await ask({ url: '/api/backup' })
  expect(status).toBe(200)
  return text
}

describe('a backup', () => {
  test('holds no secret, write key or header value in clear', async () => {
    const text = await backupOf(api(records()))
    for (const secret of [shop.writeKey, 'header-secret', 'shared-secret']) expect(text).not.toContain(secret)
    expect(text).toContain('"sealed2:')
  })

  test('is refused to the view token, because it holds user ids', async () => {
    const { ask } = api(records())
    expect(await ask({ url: '/api/backup', token: VIEW })).toMatchObject({
      status: 403,
      json: { code: 'read_only' },
    })
  })

  test('says how many records of each kind it has, and which settings it lacks', async () => {
    const lost = {
      kind: 'destination',
      id: 'lost',
      reason: 'it is not JSON',
      since: 0,
      isKept: false,
    } as const
    const [head = ''] = (await backupOf(api({ ...records(), unreadable: [lost] }))).split('\n')
    expect(JSON.parse(head)).toMatchObject({
      counts: { source: 1, destination: 1, suppression: 1, audience: 1, trait: 0, deletion: 0 },
      missing: ['destination/lost'],
    })
  })

  test('lets other work have a turn between its pieces of 64 KB', async () => {
    const suppressions = Array.from({ length: 4_000 }, (_, index) => suppressed(`user-${index}`))
    const asking = api({ ...records(), suppressions })
    let turns = 0
    const count = () => {
      turns += 1
      next = setImmediate(count)
    }
    let next = setImmediate(count)
    const text = await backupOf(asking)
    clearImmediate(next)
    expect(turns).toBeGreaterThanOrEqual(Math.floor(text.length / (64 * 1024)))
  })

  test('has the users of a deletion that another instance ends meanwhile, because it suppresses them first', async () => {
    const { tasks, taskWriter } = await deletionsOf([
      aDeletion({ id: 'd1', suppressedFor: ['*'], userIds: ['leaving'] }),
    ])
    const system = api(records(), { tasks, taskWriter })
    let isSuppressed = false
    const caughtUp = {
      async settings() {
        const { id, ...suppression } = suppressed('leaving')
        if (isSuppressed) system.settings.suppressions.set(id, { id, ...suppression })
      },
      async tasks() {
        isSuppressed = true
        await taskWriter.write(() => ({
          records: [taskRecord(aDeletion({ id: 'd1', state: 'done', suppressedFor: ['*'], userIds: [] }))],
        }))
      },
    }
    system.settings.table.caughtUp = caughtUp.settings
    tasks.table.caughtUp = caughtUp.tasks
    const text = await backupOf(system)
    expect(text).toContain('leaving')
  })

  test('is not made for a HEAD request, which would not wait for a reader', async () => {
    const system = api(records())
    const { status, headers } = await system.ask({ url: '/api/backup', method: 'HEAD' })
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8'])
    expect(system.auditTopic).toEqual([])
  })

  test('that no restore would accept breaks off, and the log says why', async () => {
    const suppressions = Array.from({ length: 1_000 }, (_, index) => suppressed(`üser-${index}`))
    const text = await backupOf(api({ ...records(), suppressions }))
    const size = Buffer.byteLength(text)
    const downloadAt = async (maxBackup: number) => {
      const { app, lines } = api({ ...records(), suppressions }, { maxBackup })
      const origin = await app.listen({ host: '127.0.0.1', port: 0 })
      const response = await fetch(`${origin}/api/backup`, { headers: { authorization: `Bearer ${ADMIN}` } })
      return { text: () => response.text(), lines }
    }
    expect(await restore(api({}, { maxBackup: size }), text)).toMatchObject({ status: 200 })
    expect(Buffer.byteLength(await (await downloadAt(size)).text())).toBe(size)
    expect(await restore(api({}, { maxBackup: size - 1 }), text)).toMatchObject({
      status: 413,
      json: { code: 'body_too_large' },
    })
    const cut = await downloadAt(size - 1)
    await expect(cut.text()).rejects.toThrow()
    expect(cut.lines.join()).toContain('a backup was cut off: it is too large to be restored')
  })

  test('leaves a line in the audit log', async () => {
    const system = api(records())
    await backupOf(system)
    expect(system.auditTopic.map((line) => JSON.parse(line))).toMatchObject([
      { what: 'backup', outcome: 'downloaded' },
    ])
  })
})

describe('a restore into an empty system', () => {
  test('leaves a line in the audit log, unless it is a dry run', async () => {
    const text = await backupOf(api(records()))
    const empty = api()
    await restore(empty, text, '?dryRun=true')
    await restore(empty, text)
    expect(empty.auditTopic.map((line) => JSON.parse(line))).toMatchObject([
      { what: 'restore', outcome: 'begun', settings: 4, deletions: 0 },
      { what: 'restore', outcome: 'restored', settings: 4, deletions: 0 },
    ])
  })

  test('leaves a line in the audit log before anything is written, as the process may end halfway', async () => {
    const text = await backupOf(api(records()))
    const system = api()
    const { write } = system.writer
    const lines: number[] = []
    system.writer.write = (decide) => {
      lines.push(system.auditTopic.length)
      return write(decide)
    }
    await restore(system, text)
    expect(lines).toEqual([1, 1, 1, 1])
  })

  test('leaves no line if nothing is left to write', async () => {
    const system = api(records())
    await restore(system, await backupOf(system), '?force=true')
    expect(system.auditTopic.map((line) => JSON.parse(line).outcome)).not.toContain('begun')
  })

  test('brings back every setting as it was, except that no audience was synced', async () => {
    const text = await backupOf(api(records()))
    const empty = api()
    expect(await restore(empty, text)).toMatchObject({ status: 200, json: { needsForce: false } })
    expect([...empty.settings.sources.values()]).toEqual([shop])
    expect([...empty.settings.destinations.values()]).toEqual([crm])
    expect([...empty.settings.suppressions.values()]).toEqual([suppressed('gone')])
    expect([...empty.settings.audiences.values()]).toEqual([{ ...vip, lastSyncAt: null }])
  })

  test('writes suppressions first and sources last, so that no call precedes what applies to it', async () => {
    const text = await backupOf(api(records()))
    const empty = api()
    await restore(empty, text)
    const kinds = [...empty.topic.keys()].map((key) => key.split('/')[0])
    expect(kinds).toEqual(['suppression', 'audience', 'destination', 'source'])
  })

  test('resumes deletions, and suppresses their users before any source exists', async () => {
    const { tasks, taskWriter } = await deletionsOf([
      aDeletion({ id: 'd1', suppressedFor: ['*'], userIds: ['leaving'] }),
      aDeletion({ id: 'd2', state: 'done', userIds: [] }),
    ])
    const text = await backupOf(api(records(), { tasks, taskWriter }))
    const empty = api()
    expect((await restore(empty, text)).json.counts.deletion).toMatchObject({ created: 2 })
    expect(empty.tasks.map(({ id, state }) => [id, state])).toEqual([
      ['d1', 'accepted'],
      ['d2', 'done'],
    ])
    const users = [...empty.settings.suppressions.values()].map(({ userId }) => userId)
    expect(users).toEqual(['gone', 'leaving'])
    expect([...empty.topic.keys()].findIndex((key) => key.startsWith('source/'))).toBe(4)
    expect(await restore(empty, text)).toMatchObject({ status: 200, json: { needsForce: false } })
    expect(empty.tasks).toHaveLength(2)
  })

  test('can be repeated: the second time changes nothing', async () => {
    const text = await backupOf(api(records()))
    const system = api()
    await restore(system, text)
    const written = new Map(system.topic)
    const { json } = await restore(system, text)
    expect(json).toMatchObject({ needsForce: false, changes: [] })
    expect(json.counts.source).toEqual({ created: 0, replaced: 0, unchanged: 1, kept: 0 })
    expect(system.topic).toEqual(written)
  })

  test('that broke off continues without force', async () => {
    const text = await backupOf(api(records()))
    const half = api({ suppressions: [suppressed('gone')], audiences: [{ ...vip, lastSyncAt: null }] })
    expect(await restore(half, text)).toMatchObject({ status: 200 })
    expect([...half.topic.keys()]).toEqual(['destination/crm', 'source/shop'])
  })

  test('writes nothing in a dry run, and says what it would do', async () => {
    const text = await backupOf(api(records()))
    const empty = api()
    const { json } = await restore(empty, text, '?dryRun=true')
    expect(json.changes).toEqual([
      { setting: 'audience/vip', action: 'create' },
      { setting: 'destination/crm', action: 'create' },
      { setting: 'source/shop', action: 'create' },
      { setting: `suppression/${suppressed('gone').id}`, action: 'create' },
    ])
    expect(empty.topic.size).toBe(0)
  })
})

test('while Kafka does not answer, a backup and a restore change nothing, and say so', async () => {
  const text = await backupOf(api(records()))
  const { settings } = api(records())
  const table = { ...settings.table, caughtUp: () => Promise.reject(new Error('no answer')) }
  const system = api({}, { settings: { ...settings, table } })
  const backup = await system.ask({ url: '/api/backup' })
  for (const { status, headers, json } of [backup, await restore(system, text, '?force=true')]) {
    expect([status, headers['retry-after'], json.code]).toEqual([503, '5', 'unavailable'])
    expect(json.message).toMatch(/no backup can be made|nothing was restored/)
  }
  expect(system.topic.size).toBe(0)
})

describe('a restore with a record that is too large for Kafka', () => {
  const tooLarge = Object.assign(new Error('larger than max.message.bytes'), { type: 'MESSAGE_TOO_LARGE' })

  function refusing({ writer }: Api, failures: Readonly<Record<string, Error>>): void {
    const { write } = writer
    writer.write = async (decide) => {
      const decision = decide()
      const key = 'records' in decision ? String(decision.records[0]?.key) : ''
      const unavailable = failures[key]
      return unavailable ? { ok: false, unavailable } : write(() => decision)
    }
  }

  test('names the setting and says what to change, and writes no source before it', async () => {
    const text = await backupOf(api(records()))
    const system = api()
    refusing(system, { 'destination/crm': tooLarge })
    const { status, json, headers } = await restore(system, text)
    expect([status, json.code, headers['retry-after']]).toEqual([413, 'body_too_large', undefined])
    expect(json.message).toContain(
      'too large for Kafka: destination/crm. Raise max.message.bytes of topic config',
    )
    expect([...system.topic.keys()].map((key) => key.split('/')[0])).toEqual(['suppression', 'audience'])
    expect(system.auditTopic.map((line) => JSON.parse(line))).toMatchObject([
      { what: 'restore', outcome: 'begun' },
      { what: 'restore', outcome: 'interrupted' },
    ])
  })

  test('is repeated first if Kafka did not answer for another record', async () => {
    const other = { ...crm, id: 'other' }
    const text = await backupOf(api({ ...records(), destinations: [crm, other] }))
    const system = api()
    refusing(system, { 'destination/crm': tooLarge, 'destination/other': new Error('no answer') })
    const { status, json } = await restore(system, text)
    expect([status, json.code]).toEqual([503, 'unavailable'])
  })

  test('names the deletion, after everything else is written', async () => {
    const memory = await deletionsOf([
      aDeletion({ id: 'd1', state: 'done', userIds: [] }),
      aDeletion({ id: 'forged', state: 'done', userIds: [] }),
    ])
    const text = await backupOf(api(records(), memory))
    const { taskWriter, ...empty } = tasksInMemory()
    const system = api(
      {},
      {
        ...empty,
        taskWriter: {
          async write(decide) {
            const decision = decide()
            const isRefused = 'records' in decision && decision.records[0]?.key === 'deletion/forged'
            return isRefused ? { ok: false, unavailable: tooLarge } : taskWriter.write(() => decision)
          },
        },
      },
    )
    const { status, json } = await restore(system, text)
    expect([status, json.code]).toEqual([413, 'body_too_large'])
    expect(json.message).toContain(
      'too large for Kafka: deletion/forged. Raise max.message.bytes of topic tasks',
    )
    expect(system.topic.size).toBe(4)
    expect([...empty.tasks.deletions.keys()]).toEqual(['d1'])
  })
})

describe('a restore into a system with other settings', () => {
  const renamed: Source = { ...shop, name: 'Renamed', version: 8 }
  const other: Source = { ...shop, id: 'other', writeKey: 'other-write-key' }

  test('is refused, names them, and writes nothing', async () => {
    const text = await backupOf(api(records()))
    const system = api({ sources: [renamed, other] })
    const { status, json } = await restore(system, text)
    expect([status, json.code]).toEqual([409, 'restore_conflict'])
    expect(json.message).toContain('source/shop, source/other')
    expect(system.topic.size).toBe(0)
  })

  test('brings back a removed setting under a version that no client has read', async () => {
    const backup = await backupOf(api(records()))
    const system = api({ lastVersions: new Map([['source/shop', 8]]) })
    expect(await restore(system, backup)).toMatchObject({ status: 200 })
    expect(system.settings.sources.get('shop')).toMatchObject({ name: 'Shop', version: 9 })
    expect(system.settings.destinations.get('crm')).toMatchObject({ version: 2 })
  })

  test('replaces what differs and keeps the rest with force, under a version that no client has read', async () => {
    const text = await backupOf(api(records()))
    const system = api({ sources: [renamed, other] })
    const { json } = await restore(system, text, '?force=true')
    expect(json.counts.source).toEqual({ created: 0, replaced: 1, unchanged: 0, kept: 1 })
    expect(system.settings.sources.get('shop')).toMatchObject({ name: 'Shop', version: 9 })
    expect(system.settings.sources.get('other')).toEqual(other)
  })

  test('keeps when an existing audience was synced', async () => {
    const text = await backupOf(api(records()))
    const later = '2026-02-02T03:04:05.678Z'
    const system = api({ ...records(), audiences: [{ ...vip, name: 'V', lastSyncAt: later }] })
    await restore(system, text, '?force=true')
    expect(system.settings.audiences.get('vip')).toMatchObject({ name: 'VIP', lastSyncAt: later })
  })

  test('keeps what receivers were last told about an audience that was created again after the backup', async () => {
    const text = await backupOf(api(records()))
    const again = { ...vip, name: 'V', createdAt: '2026-02-02T03:04:05.678Z' }
    const system = api({ ...records(), audiences: [again] })
    await restore(system, text, '?force=true')
    // stored members of another creation would be removed without a report
    expect(system.settings.audiences.get('vip')).toMatchObject({ name: 'VIP', createdAt: again.createdAt })
    const { json } = await restore(system, text)
    expect([json.needsForce, json.counts.audience]).toMatchObject([false, { unchanged: 1 }])
  })

  test.each([{ key: 'v' }, { sourceId: 'app' }])(
    'starts an audience over that had another key or source: receivers know its members by these: %j',
    async (other) => {
      const text = await backupOf(api(records()))
      const createdAt = '2026-02-02T03:04:05.678Z'
      const system = api({
        ...records(),
        audiences: [{ ...vip, ...other, createdAt, lastSyncAt: createdAt }],
      })
      await restore(system, text, '?force=true')
      const { key, sourceId } = vip
      const expected = { key, sourceId, createdAt: vip.createdAt, lastSyncAt: null }
      expect(system.settings.audiences.get('vip')).toMatchObject(expected)
    },
  )

  test('replaces a setting that cannot be read', async () => {
    const text = await backupOf(api(records()))
    const lost = { kind: 'source', id: 'shop', reason: 'it is sealed', since: 0, isKept: false } as const
    const system = api({ unreadable: [lost] })
    expect((await restore(system, text)).json.code).toBe('restore_conflict')
    await restore(system, text, '?force=true')
    expect(system.settings.sources.get('shop')).toEqual(shop)
  })

  test('never gives two sources one write key', async () => {
    const text = await backupOf(api(records()))
    const system = api({ sources: [{ ...other, previousWriteKey: shop.writeKey }] })
    const { status, json } = await restore(system, text, '?force=true')
    expect([status, json.code]).toEqual([409, 'write_key_taken'])
    expect(system.topic.size).toBe(0)
  })

  test.each<[string, Source, Destination]>([
    [
      'source/shop belongs to workspace bolt, but in the backup to acme: remove it first',
      { ...shop, workspaceId: 'bolt' },
      { ...crm, workspaceId: 'acme', sourceIds: [] },
    ],
    [
      'destination/crm belongs to workspace bolt, but in the backup to acme: remove it first',
      { ...shop, workspaceId: 'acme' },
      { ...crm, workspaceId: 'bolt', sourceIds: [] },
    ],
    [
      'destination/kept of workspace bolt would get the events of source/shop, which does not belong to it: remove one of them first',
      shop,
      { ...crm, id: 'kept', workspaceId: 'bolt' },
    ],
  ])('never shows a workspace what belongs to another: %s', async (message, source, destination) => {
    const workspaceId = 'acme'
    const text = await backupOf(
      api({ sources: [{ ...shop, workspaceId }], destinations: [{ ...crm, workspaceId }] }),
    )
    const system = api({ sources: [source], destinations: [destination] })
    const { status, json } = await restore(system, text, '?force=true')
    expect([status, json]).toMatchObject([409, { code: 'restore_conflict', message }])
    expect(system.topic.size).toBe(0)
  })

  test('stops if somebody gives the write key to another source in the meantime', async () => {
    const text = await backupOf(api(records()))
    const system = api()
    const { write } = system.writer
    system.writer.write = (decide) => {
      system.settings.sources.set('other', { ...other, writeKey: shop.writeKey })
      return write(decide)
    }
    const { status, json } = await restore(system, text)
    expect([status, json.code]).toEqual([409, 'restore_conflict'])
    expect(json.message).toContain('only part of it may be written')
    expect(system.settings.sources.has('shop')).toBe(false)
    expect(system.auditTopic.map((line) => JSON.parse(line))).toMatchObject([
      { what: 'restore', outcome: 'begun' },
      { what: 'restore', outcome: 'interrupted' },
    ])
  })

  test('stops if somebody gives the key of an audience to a trait in the meantime', async () => {
    const text = await backupOf(api(records()))
    const system = api()
    const { write } = system.writer
    system.writer.write = (decide) => {
      system.settings.traits.set('vip-trait', { ...vip, id: 'vip-trait' })
      return write(decide)
    }
    const { status, json } = await restore(system, text)
    expect([status, json.code]).toEqual([409, 'restore_conflict'])
    expect(system.settings.audiences.size).toBe(0)
  })

  test('never gives two audiences of a source one key', async () => {
    const text = await backupOf(api(records()))
    const system = api({ traits: [{ ...vip, id: 'vip-trait' }] })
    expect((await restore(system, text, '?force=true')).json.code).toBe('key_taken')
  })
})

test('two sources that share a write key in the backup are restored as they were', async () => {
  const shared: Source = { ...shop, id: 'shared', enabled: false }
  const text = await backupOf(api({ sources: [shop, shared] }))
  const empty = api()
  expect(await restore(empty, text)).toMatchObject({ status: 200 })
  expect([...empty.settings.sources.values()]).toEqual([shop, shared])
})

test('a backup with any byte changed is refused, as is any other text', async () => {
  const bytes = Buffer.from(await backupOf(api(records())))
  const backups = keys.backups ?? []
  expect(verifyBackup(bytes, backups)).toHaveProperty('head')
  fc.assert(
    fc.property(fc.nat(bytes.length - 2), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const altered = Buffer.from(bytes)
      altered[at] = (bytes[at] ?? 0) ^ change
      expect(verifyBackup(altered, backups)).toHaveProperty('code')
    }),
  )
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array(), fc.string().map(Buffer.from)), (other) => {
      expect(verifyBackup(Buffer.from(other), backups)).toHaveProperty('code')
    }),
  )
})

test('nothing of a backup is parsed before its signature is checked', async () => {
  const [head = '', ...more] = (await backupOf(api(records()))).split('\n')
  const parse = vi.spyOn(JSON, 'parse')
  onTestFinished(() => parse.mockRestore())
  const altered = [head.replace('"madeAt"', `"x":[${'[],'.repeat(1_000)}[]],"madeAt"`), ...more].join('\n')
  expect(verifyBackup(Buffer.from(altered), keys.backups ?? [])).toHaveProperty('code', 'backup_altered')
  expect(verifyBackup(Buffer.from(`${altered.slice(0, 900)}\n`), keys.backups ?? [])).toHaveProperty('code')
  expect(parse).not.toHaveBeenCalled()
})

describe('a backup is refused, and nothing is written,', () => {
  test.each<[string, (lines: string[]) => string[], string]>([
    [
      'if a line is removed',
      (lines) => lines.filter((line) => !line.startsWith('suppression/')),
      'backup_altered',
    ],
    [
      'if a line is repeated',
      ([head = '', first = '', ...more]) => [head, first, first, ...more],
      'backup_altered',
    ],
    ['if a value is changed', (lines) => lines.map((line) => line.replace('gone', 'none')), 'backup_altered'],
    [
      'if lines change places',
      ([head = '', one = '', two = '', ...more]) => [head, two, one, ...more],
      'backup_altered',
    ],
    ['if it was cut off', (lines) => lines.slice(0, 3), 'backup_invalid'],
    ['if it is another file', () => ['sources:', '- id: shop'], 'backup_invalid'],
    ['if it is empty', () => [], 'backup_invalid'],
    [
      'if a later version made it',
      ([head = '', ...more]) => [head.replace('"format":1', '"format":2'), ...more],
      'backup_invalid',
    ],
  ])('%s', async (_, alter, code) => {
    const text = await backupOf(api(records()))
    const system = api()
    const altered = alter(text.trimEnd().split('\n'))
    const { status, json } = await restore(system, altered.map((line) => `${line}\n`).join(''))
    expect([status, json.code]).toEqual([400, code])
    expect(system.topic.size).toBe(0)
  })

  test('if control does not have its CONFIG_KEY; with both keys it is restored and sealed with the new one', async () => {
    const text = await backupOf(api(records()))
    const fresh = Buffer.alloc(32, 'a new key')
    const keysOf = (...whole: Buffer[]) =>
      keysFor(
        'control',
        whole.map((each) => ({ whole: each })),
        false,
      )
    const other = api({}, { keys: keysOf(fresh) })
    const { status, json } = await restore(other, text)
    expect([status, json.code]).toEqual([409, 'backup_other_key'])
    expect(other.topic.size).toBe(0)
    const both = api({}, { keys: keysOf(Buffer.alloc(32, 7), fresh) })
    expect((await restore(both, text)).status).toBe(200)
    const source = both.topic.get('source/shop') ?? ''
    expect(opened('source/shop', source)).toEqual(shop)
    expect(keys.backups).toHaveLength(1)
  })

  test('if it is sent as JSON, whatever its content', async () => {
    const { ask } = api()
    const headers = { 'content-type': 'application/json' }
    const text = await backupOf(api(records()))
    for (const body of ['{}', text, 'x'.repeat(2 * 1024 * 1024)])
      expect(await ask({ method: 'POST', url: '/api/restore', body, headers })).toMatchObject({
        status: 415,
        json: { message: 'Send the backup with Content-Type: text/plain' },
      })
    // many clients send the type even without a body
    expect(await ask({ method: 'POST', url: '/api/restore', headers })).toMatchObject({
      status: 400,
      json: { code: 'backup_invalid' },
    })
  })

  test.each<[string, (text: string) => string, string]>([
    [
      'a program added a byte order mark',
      (text) => `\uFEFF${text}`,
      'Line 1 of the backup begins with a byte order mark',
    ],
    [
      'a program changed its line ends',
      (text) => text.replaceAll('\n', '\r\n'),
      'Line 1 of the backup ends with CR LF',
    ],
    [
      'a line follows its end',
      (text) => `${text}\n`,
      'The backup is incomplete or was altered: its last line is not its signature',
    ],
  ])('and the reason given, if %s', async (_, alter, reason) => {
    const system = api()
    const { json } = await restore(system, alter(await backupOf(api(records()))))
    expect(json.message).toMatch(reason)
    expect(system.topic.size).toBe(0)
  })
})

async function deletionsOf(deletions: readonly ReturnType<typeof aDeletion>[]) {
  const memory = tasksInMemory()
  for (const deletion of deletions) await memory.taskWriter.write(() => ({ records: [taskRecord(deletion)] }))
  return memory
}
