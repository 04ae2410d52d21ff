import { onTestFinished } from 'vitest'

/** A server-sent event; `data` is JSON. */
export type Told = { event: string; id: string | undefined; data: Record<string, unknown> }

export type Stream = {
  status: number
  headers: Headers
  told: Told[]
  /** Everything, as received. */
  text(): string
  /** The data of one kind. */
  of(event: string): Record<string, unknown>[]
  hasEnded(): boolean
  close(): void
}

/** Reads a stream of server-sent events until the test is over. */
export async function listen(url: string, token: string): Promise<Stream> {
  const leaving = new AbortController()
  onTestFinished(() => leaving.abort())
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${token}` },
    signal: leaving.signal,
  })
  const told: Told[] = []
  let text = ''
  let read = 0
  let ended = false

  function take(chunk: string): void {
    text += chunk
    for (let end = text.indexOf('\n\n', read); end >= 0; end = text.indexOf('\n\n', read)) {
      const lines = text.slice(read, end).split('\n')
      read = end + 2
      const field = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const event = field('event')
      if (event) told.push({ event, id: field('id'), data: JSON.parse(field('data') ?? '{}') })
    }
  }

  async function readAll(): Promise<void> {
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) take(decoder.decode(chunk, { stream: true }))
  }

  void readAll()
    .catch(() => undefined)
    .finally(() => {
      ended = true
    })
  return {
    status: response.status,
    headers: response.headers,
    told,
    text: () => text,
    of: (event) => told.filter((each) => each.event === event).map(({ data }) => data),
    hasEnded: () => ended,
    close: () => leaving.abort(),
  }
}
