import { setTimeout as sleep } from 'node:timers/promises'

export type ReadyOptions = {
  /** URLs of `/readyz` by the name of the process. */
  urls: Readonly<Record<string, string>>
  /** Told once when it takes long, with what each process that is not ready says. */
  onSlow: (line: string) => void
  slowMs?: number
}

/** Resolves when every URL has answered 200; there is no limit, since whoever waits can press Ctrl-C. */
export async function allReady({ urls, onSlow, slowMs = 30_000 }: ReadyOptions): Promise<void> {
  const waiting = new Map(Object.keys(urls).map((name) => [name, 'no answer']))
  const timer = setTimeout(
    () => onSlow(`not ready yet: ${[...waiting].map((entry) => entry.join(': ')).join('; ')}`),
    slowMs,
  )
  const one = async ([name, url]: [string, string]) => {
    for (;;) {
      const answer = await ask(url)
      if (answer === 'ready') break
      waiting.set(name, answer)
      await sleep(100)
    }
    waiting.delete(name)
  }
  await Promise.all(Object.entries(urls).map(one)).finally(() => clearTimeout(timer))
}

async function ask(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
    const text = await response.text()
    return response.status === 200 ? 'ready' : `${response.status} ${text.slice(0, 200)}`
  } catch {
    return 'no answer'
  }
}
