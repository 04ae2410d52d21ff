import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { signature } from '../../deliverer/signatures.ts'
import { closing } from '../helpers/cluster.ts'
import { startSystem } from '../helpers/system.ts'

const run = promisify(execFile)
const file = (name: string) => fileURLToPath(new URL(`../foreign/${name}`, import.meta.url))
const has = (command: string, ...args: string[]) => spawnSync(command, args).status === 0

// tools that a machine may lack; .ci/run installs them, so there nothing is skipped
const python = has('python3', '-c', 'import confluent_kafka, fastavro')
const go = has('go', 'version')

describe('other languages', () => {
  test.skipIf(!python)(
    "read topic events with Confluent's Python client and the registry's schema",
    async () => {
      const sluice = closing(await startSystem())
      await sluice.send([
        {
          type: 'track',
          userId: 'u1',
          event: 'Grüße ✓',
          messageId: 'm1',
          properties: { total: 1.5 },
          timestamp: '2026-01-02T03:04:05.006Z',
        },
        { type: 'identify', anonymousId: 'a1', messageId: 'm2', traits: { plan: 'pro' } },
      ])
      const { KAFKA_BROKERS = '', SCHEMA_REGISTRY_URL = '' } = sluice.env
      const args = [
        file('read_events.py'),
        KAFKA_BROKERS,
        SCHEMA_REGISTRY_URL,
        sluice.connection.named('events'),
        '2',
      ]
      const { stdout } = await run('python3', args, { timeout: 60_000 })
      const events = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      expect(events.find(({ messageId }) => messageId === 'm1')).toMatchObject({
        key: 'shop/u1',
        sourceId: 'shop',
        type: 'track',
        event: 'Grüße ✓',
        properties: '{"total":1.5}',
        timestamp: '2026-01-02T03:04:05.006000+00:00',
        anonymousId: null,
      })
      expect(events.find(({ messageId }) => messageId === 'm2')).toMatchObject({
        key: 'shop/a1',
        traits: '{"plan":"pro"}',
      })
    },
  )

  test.skipIf(!go)("agree with Go's standard HMAC on the signature", async () => {
    const body = '{"type":"track","event":"Grüße ✓","n":1.5}'
    const { status, stdout } = spawnSync('go', ['run', file('signature.go'), 'sécret'], {
      input: body,
      encoding: 'utf8',
    })
    expect([status, stdout.trim()]).toEqual([0, signature(body, 'sécret')])
  })
})
