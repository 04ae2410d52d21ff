import { fileURLToPath } from 'node:url'
import got from 'got'
import { type Child, spawnChild } from '../../local/child-process.ts'
import { freePort } from '../../local/ports.ts'
import { NODE_FLAGS } from '../../test/helpers/node-flags.ts'
import { until } from '../../test/helpers/until.ts'
import type { System } from '../../test/ingest/ingest-process.ts'

/** `metrics`: what /metrics says now. */
export type RoleProcess = Child & { url: string; metrics(): Promise<string> }

/** The real process with the flags of `npm start`; @returns when it says that it is ready. */
export async function startRole(
  role: 'router' | 'deliverer' | 'control',
  { env }: System,
  settings: Readonly<Record<string, string>> = {},
): Promise<RoleProcess> {
  const port = await freePort()
  const said: string[] = []
  const tied = spawnChild(process.execPath, {
    args: [...NODE_FLAGS, fileURLToPath(new URL(`../../${role}/main.ts`, import.meta.url))],
    env: {
      PATH: process.env.PATH,
      ...env,
      [`${role.toUpperCase()}_PORT`]: String(port),
      EGRESS_ALLOW: '127.0.0.0/8',
      ...settings,
    },
    onLine: (line) => void (said.length < 20 && said.push(line)),
  })
  const url = `http://127.0.0.1:${port}`
  const get = (path: string) => got(`${url}${path}`, { retry: { limit: 0 } }).text()
  await until(() => get('/readyz'), {
    timeout: 60_000,
    message: () => `${role} is ready; it said:\n${said.join('\n')}`,
  })
  return { ...tied, url, metrics: () => get('/metrics') }
}
