import { pino } from 'pino'
import { createApp } from './app.ts'

/** The text that `GET /api/openapi.json` serves, without Kafka and without listening. */
export async function controlDescription(): Promise<string> {
  // only the handler of the document runs
  const parts = Object.assign(Object.create(null), {
    log: pino({ level: 'silent' }),
    auditProducer: {},
    live: { end: () => {} },
    tasks: {},
    tokens: { admin: '' },
    keys: {},
    settings: { isFresh: () => true },
    endedSessions: {},
    tokenLimits: {},
    trustProxy: [],
  })
  const app = createApp(parts)
  const { body } = await app.inject('/api/openapi.json')
  await app.close()
  return body
}
