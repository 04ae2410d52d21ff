import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { EVENTS, REJECTED } from '../../schemas/topics.ts'
import { type Call, calls, columns, dated, inOrder, numbered, oneTooDeep } from '../helpers/calls.ts'
import { closing } from '../helpers/cluster.ts'
import { readDecoded } from '../helpers/decoded.ts'
import { type Seen, startFront } from '../helpers/front.ts'
import { go, type Library, node, python } from '../helpers/libraries.ts'
import { type IngestProcess, prepareSystem, type System, startIngest } from '../ingest/ingest-process.ts'

const libraries = [
  { id: 'node', library: node, more: [dated] },
  { id: 'python', library: python(), more: numbered },
  { id: 'python-sync', library: python('sync_mode'), more: numbered },
  { id: 'python-gzip', library: python('gzip'), more: numbered },
  { id: 'go', library: go, more: [] },
]

let system: System
let ingest: IngestProcess

beforeAll(async () => {
  // each test has its own source
  const ids = libraries.flatMap(({ id }) => ['all', 'rejected', 'again'].map((what) => `${id}-${what}`))
  const sources = ids.map((id) => ({ id, writeKey: id, enabled: true }))
  const shared = { brokers: inject('kafkaBrokers'), registryUrl: inject('registryUrl') }
  system = await prepareSystem({ ...shared, sources })
  ingest = await startIngest(system)
})
afterAll(async () => void (await ingest?.stop()))

/** @returns what a proxy passed on, and what the library reports as lost */
async function send(library: Library, sent: readonly Call[], sourceId: string, ...refusals: number[]) {
  const front = closing(await startFront(ingest.url))
  front.refuseNext(
    ...refusals.map((status) => ({
      status,
      headers: { 'content-type': 'application/json', 'retry-after': '1' },
      body: '{"code":"later","message":"Send again later."}',
    })),
  )
  const givenUp = await library.send(sent, { url: front.url, writeKey: sourceId })
  return { givenUp, seen: front.seen }
}

const statuses = (seen: readonly Seen[]) => [...new Set(seen.map(({ status }) => status))]

/** With JSON columns parsed. */
async function read(sourceId: string, topic = EVENTS): Promise<Record<string, unknown>[]> {
  const json = new Set(['properties', 'traits', 'context', 'integrations'])
  const parsed = ([name, value]: [string, unknown]) =>
    [name, json.has(name) && typeof value === 'string' ? JSON.parse(value) : value] as const
  return (await readDecoded(system.connection, topic))
    .filter(({ value }) => value.sourceId === sourceId)
    .map(({ value }) => Object.fromEntries(Object.entries(value).map(parsed)))
}

describe.each(libraries)('the client library for $id', ({ id, library, more }) => {
  const { name, missing } = library

  test('sends every type of call once, and each is stored completely', async ({ skip }) => {
    skip(missing !== undefined, missing)
    const sent = [...calls, ...more]
    const { givenUp, seen } = await send(library, sent, `${id}-all`)
    expect([givenUp, statuses(seen)]).toEqual([0, [200]])
    expect(seen.flatMap((request) => request.calls)).toHaveLength(sent.length)
    const encoding = id === 'python-gzip' ? 'gzip' : undefined
    expect(new Set(seen.map((request) => request.encoding))).toEqual(new Set([encoding]))
    const found = await read(`${id}-all`)
    expect(inOrder(found)).toMatchObject(inOrder(sent.map((call) => columns(call, name))))
    for (const { timestamp, originalTimestamp } of found)
      expect(Math.abs(Number(timestamp) - Number(originalTimestamp))).toBeLessThan(10_000)
  })

  test('treats a batch with a rejected call as delivered, and sends it once', async ({ skip }) => {
    skip(missing !== undefined, missing)
    const { givenUp, seen } = await send(library, oneTooDeep, `${id}-rejected`)
    expect([givenUp, statuses(seen)]).toEqual([0, [200]])
    expect(seen.flatMap((request) => request.calls)).toHaveLength(3)
    expect((await read(`${id}-rejected`)).map(({ userId }) => userId).toSorted()).toEqual(['u1', 'u3'])
    // the answer waits for it for at most a second
    await expect.poll(() => read(`${id}-rejected`, REJECTED)).toMatchObject([{ code: 'too_deep' }])
  })
})

// others throw in sync mode, and gzip makes no difference here
const patient = libraries.filter(({ id }) => ['node', 'python', 'go'].includes(id))

test.for(patient)(
  'the client library for $id retries after 503 or 429 with the same ids',
  async ({ id, library }, { skip }) => {
    skip(library.missing !== undefined, library.missing)
    const { givenUp, seen } = await send(library, calls.slice(0, 3), `${id}-again`, 503, 429)
    expect(givenUp).toBe(0)
    expect(seen.map(({ status }) => status)).toEqual([503, 429, 200])
    const ids = seen.map((request) => request.calls.map(({ messageId }) => messageId))
    expect(ids).toEqual([ids[0], ids[0], ids[0]])
    expect((await read(`${id}-again`)).map(({ messageId }) => messageId).toSorted()).toEqual(
      ids[0]?.toSorted(),
    )
  },
)
