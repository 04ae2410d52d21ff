import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import got from 'got'
import type { Launched } from '../../harness/launch.ts'
import { type PreparedSystem, startRole } from '../../harness/prepare.ts'
import { until } from '../../harness/until.ts'

/** `body`: lines of text. */
type Sent = { json: object } | { body: Readable }

export type ControlProcess = Launched & {
  /** @param path below `/api/`. @returns the answer's body. @throws when control refuses */
  ask<T>(method: 'GET' | 'POST' | 'PUT', path: string, sent?: Sent): Promise<T>
}

/** With its background work started. */
export async function startControl(system: PreparedSystem): Promise<ControlProcess> {
  const token = randomBytes(16).toString('hex')
  const role = await startRole('control', system, { settings: { CONTROL_TOKEN: token } })
  const headers = { authorization: `Bearer ${token}` }
  const ask: ControlProcess['ask'] = (method, path, sent) =>
    got(`${role.url}/api/${path}`, {
      method,
      headers: { ...headers, ...(sent && 'body' in sent && { 'content-type': 'text/plain' }) },
      retry: { limit: 0 },
      ...sent,
    }).json()
  await warm({ ask })
  return { ...role, ask }
}

/** After a task, its worker has joined its consumer group. */
async function warm({ ask }: Pick<ControlProcess, 'ask'>): Promise<void> {
  await until(() => ask('GET', 'sources'), { timeout: 30_000 })
  const { id } = await ask<{ id: string }>('POST', 'deletions', { json: { userIds: ['nobody'] } })
  await performed({ ask }, id)
}

export async function performed({ ask }: Pick<ControlProcess, 'ask'>, id: string): Promise<void> {
  const isDone = async () => (await ask<{ state: string }>('GET', `deletions/${id}`)).state === 'done'
  await until(isDone, { timeout: 60_000, message: `deletion ${id} is done` })
}
