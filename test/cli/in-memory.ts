import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import type { Api } from '../../cli/api/client.ts'
import type { Context, Output } from '../../cli/context.ts'
import { ADMIN, api } from '../control/api.ts'

export const NOW = Date.parse('2026-01-02T03:04:05.678Z')

/** Control's API without Kafka. `writes` lists changes as `METHOD path status`. */
export function control(...given: Parameters<typeof api>) {
  const memory = api(...given)
  const writes: string[] = []
  /** Before each write over HTTP, as a change by someone else. */
  let meanwhile: (() => Promise<void>) | undefined

  const ask: Api = async ({ method = 'GET', path, query = {}, json, ifMatch }) => {
    const given = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${value}`],
    )
    const { status, json: body } = await memory.ask({
      method,
      url: `/api/${path}?${given.join('&')}`,
      body: json,
      ...(ifMatch !== undefined && { headers: { 'if-match': String(ifMatch) } }),
    })
    if (method !== 'GET' && !query.dryRun) writes.push(`${method} ${path} ${status}`)
    return { status, body }
  }
  return {
    ...memory,
    ask,
    async asked(request: Parameters<typeof memory.ask>[0]) {
      if (request.method !== 'GET' && !request.url.includes('dryRun')) await meanwhile?.()
      return memory.ask(request)
    },
    writes,
    clear() {
      writes.length = 0
      const { sources, destinations, suppressions, audiences, traits } = memory.settings
      for (const records of [sources, destinations, suppressions, audiences, traits]) records.clear()
    },
    meanwhile: (does: (() => Promise<void>) | undefined) => {
      meanwhile = does
    },
  }
}

/** Until the end of the test. @returns its address */
export async function listening({ asked }: Pick<ReturnType<typeof control>, 'asked'>): Promise<string> {
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request
    const body = (await text(request)) || undefined
    const ifMatch = headers['if-match']
    const token = headers.authorization?.replace('Bearer ', '') ?? ''
    const type = headers['content-type']
    const more = {
      ...(type && { 'content-type': type }),
      ...(ifMatch !== undefined && { 'if-match': ifMatch }),
    }
    const answer = await asked({ method, url, body, token, headers: more }).catch(() => undefined)
    // the test is over
    if (!answer) return void response.destroy()
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function lines(columns?: number): Output & { said: string[]; text(): string } {
  const said: string[] = []
  return {
    said,
    text: () => said.join('\n'),
    line: (line) => void said.push(line),
    styled: (_, line) => line,
    columns,
    closed: new AbortController().signal,
  }
}

export function aContext({
  env = {},
  input = '',
  columns,
}: {
  env?: Record<string, string>
  input?: string
  columns?: number | undefined
} = {}) {
  const [out, err] = [lines(columns), lines(columns)]
  let made = 0
  return {
    // no npm start runs there
    env: { SLUICE_DATA: '/nowhere', ...env },
    out,
    err,
    readInput: async () => input,
    now: () => NOW,
    newId: () => `made-${++made}`,
  } satisfies Context
}

export async function operatorOf(
  memory: Pick<ReturnType<typeof control>, 'asked'>,
  env: Record<string, string> = {},
) {
  return aContext({ env: { SLUICE_URL: await listening(memory), CONTROL_TOKEN: ADMIN, ...env } })
}
