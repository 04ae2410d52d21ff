import { fileURLToPath } from 'node:url'
import { NODE_FLAGS } from '../../harness/launch.ts'
import { spawnChild } from '../../local/processes/child-process.ts'
import { planted } from '../helpers/planted.ts'
import { until } from '../helpers/until.ts'

export const ADMIN = 'admin-token-0123456789'
export const VIEW = 'view-token-0123456789'

const MAIN = fileURLToPath(new URL('../../control/main.ts', import.meta.url))

export type ControlEnv = {
  kafkaBrokers: string
  registryUrl: string
  topicPrefix: string
  key: Buffer
  /** Added to the defaults. */
  settings?: Record<string, string>
}
export type ApiResponse = { status: number; json: Record<string, unknown>; headers: Headers }

/** Does not wait for it to start. */
export function startControl({ kafkaBrokers, registryUrl, topicPrefix, key, settings }: ControlEnv) {
  const lines: string[] = []
  const env = {
    ...process.env,
    KAFKA_BROKERS: kafkaBrokers,
    SCHEMA_REGISTRY_URL: registryUrl,
    TOPIC_PREFIX: topicPrefix,
    PARTITIONS: '1',
    HOST: '127.0.0.1',
    CONTROL_PORT: '0',
    CONTROL_METRICS_PORT: '0',
    CONTROL_TOKEN: ADMIN,
    CONTROL_VIEW_TOKEN: VIEW,
    CONFIG_KEY: key.toString('base64'),
    LOG_LEVEL: 'info',
    ...settings,
  }
  planted.settings(env)
  const child = spawnChild(process.execPath, {
    args: [...NODE_FLAGS, MAIN],
    env,
    onLine(line) {
      lines.push(line)
      planted.heard(line)
    },
  })

  /** Its address, once it serves. */
  async function ready(): Promise<string> {
    const line = await until(() => lines.find((each) => each.includes('control ready')), {
      timeout: 90_000,
      message: () => `control ready:\n${lines.join('\n')}`,
    })
    return JSON.parse(line).url
  }

  async function ask(
    method: string,
    path: string,
    more: { body?: unknown; ifMatch?: number; token?: string } = {},
  ): Promise<ApiResponse> {
    const headers = new Headers({ authorization: `Bearer ${more.token ?? ADMIN}` })
    if (more.body !== undefined) headers.set('content-type', 'application/json')
    if (more.ifMatch !== undefined) headers.set('if-match', `"${more.ifMatch}"`)
    planted.given(more.body)
    const body = more.body === undefined ? null : JSON.stringify(more.body)
    const response = await fetch(`${await ready()}${path}`, { method, headers, body })
    const text = await response.text()
    return { status: response.status, headers: response.headers, json: text ? JSON.parse(text) : {} }
  }

  return { ...child, lines, ready, ask }
}

export type Control = ReturnType<typeof startControl>
