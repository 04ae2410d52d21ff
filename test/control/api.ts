import { pino } from 'pino'
import { expect, onTestFinished } from 'vitest'
import { createFigures } from '../../control/activity/figures/figures.ts'
import { createHealth } from '../../control/activity/health/health.ts'
import { createLive } from '../../control/activity/live/live.ts'
import { createTokenLimits } from '../../control/api/auth/tokens.ts'
import { type AppParts, createApp } from '../../control/app.ts'
import { AUDIT } from '../../schemas/topics.ts'
import { attemptsHeld } from './attempts-in-memory.ts'
import { deadHeld } from './dead-in-memory.ts'
import { expectDescribed } from './described.ts'
import { inMemory, keys } from './in-memory.ts'
import { lagHeld } from './lag-in-memory.ts'
import { tasksInMemory } from './tasks-in-memory.ts'

export const ADMIN = 'admin-token-123456'
export const VIEW = 'view-token-123456'

export type Asked = {
  method?: string
  url: string
  body?: unknown
  token?: string
  headers?: Record<string, string>
  /** The address of the client. */
  from?: string
}

const isText = (body: unknown): body is string | Buffer => typeof body === 'string' || Buffer.isBuffer(body)

/** The API, until the test ends. Checks every response against the OpenAPI document. */
export function api(records: Parameters<typeof inMemory>[0] = {}, parts: Partial<AppParts> = {}) {
  const memory = inMemory(records)
  const { tasks, taskWriter, endedSessions, topic: taskTopic } = tasksInMemory()
  const lines: string[] = []
  const auditTopic: string[] = []
  const log = pino({}, { write: (line) => void lines.push(line) })
  const tokens = { admin: ADMIN, view: VIEW }
  const probe = { notReady: () => undefined }
  const egress = { faultOf: async () => undefined }
  const openPoster = () => expect.fail('no test was to be sent')
  const figures = createFigures(Date.now)
  const app = createApp({
    ...memory,
    ...attemptsHeld(),
    ...deadHeld(),
    ...lagHeld(),
    live: createLive({ openFeed: () => expect.fail('nobody was to watch'), onSkipped: () => {}, log }),
    events: { search: () => expect.fail('nothing was to be searched') },
    latestEvents: { latest: () => expect.fail('nothing was to be searched') },
    deliveries: {
      search: () => expect.fail('nothing was to be searched'),
      read: () => expect.fail('nothing was to be read'),
      unsettled: () => expect.fail('no commits were to be read'),
    },
    trace: () => expect.fail('nothing was to be traced'),
    ladder: { ladder: [], windowMs: 0 },
    figures: { ...figures, since: () => null },
    health: createHealth({ destinations: memory.settings.destinations, figures, now: Date.now }),
    ingestRate: {
      loaded: Promise.resolve(),
      isLoaded: () => true,
      latest: () => undefined,
      calls: () => undefined,
    },
    tasks,
    taskWriter,
    endedSessions,
    // uploads are tested on a real broker
    readerOf: () => expect.fail('nothing was to be read'),
    storage: { shortage: () => undefined, rooms: () => [] },
    rangesOf: async () => [{ partition: 0, from: 10, to: 30 }],
    openOffsets: () => expect.fail('nothing was to be searched'),
    producer: { produce: () => expect.fail('nothing was to be uploaded') },
    auditProducer: {
      async produce(records) {
        for (const { topic, value } of records) {
          expect(topic).toBe(AUDIT)
          auditTopic.push(String(value))
        }
        return 'acked'
      },
    },
    egress,
    openPoster,
    keys,
    tokens,
    oidc: undefined,
    trustProxy: [],
    ingest: { url: undefined, port: 8080 },
    consoleLimits: () => ({
      responseTimeoutMs: 7_000,
      retryWindowMs: 90_000,
      retryDelays: ['5s', '1m'],
      eventsKeptMs: null,
      deadKeptMs: null,
    }),
    // time stands still
    tokenLimits: createTokenLimits(() => 0),
    probe,
    log,
    ...parts,
  })
  onTestFinished(() => app.close())

  async function ask({ method = 'GET', url, body, token = ADMIN, headers = {}, from }: Asked) {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const response = await app.inject({
      // tests use invalid methods too
      method: method as 'GET',
      url,
      ...(from !== undefined && { remoteAddress: from }),
      headers: { ...(token && { authorization: `Bearer ${token}` }), ...type, ...headers },
      ...(body === undefined ? {} : { payload: isText(body) ? body : JSON.stringify(body) }),
    })
    const isJson = response.headers['content-type']?.toString().includes('json') && response.body !== ''
    const json = isJson ? response.json() : undefined
    const answer = { status: response.statusCode, headers: response.headers, text: response.body }
    await expectDescribed(app, { method, url, ...answer })
    return { ...answer, json }
  }

  return { app, ask, lines, auditTopic, close: () => app.close(), tasks: taskTopic, ...memory }
}
