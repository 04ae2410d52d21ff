import type { WriteStream } from 'node:tty'

export type Say = {
  line(text: string): void
  /** Replaces what it said before on a terminal; elsewhere a line a second. */
  progress(text: string): void
}

export function sayTo(out: Pick<WriteStream, 'write' | 'isTTY'>): Say {
  let open = false
  let lastAt = Number.NEGATIVE_INFINITY
  let lastText = ''
  const end = () => {
    if (open) out.write('\n')
    open = false
  }
  return {
    line: (text) => {
      end()
      out.write(`${text}\n`)
    },
    progress: (text) => {
      if (text === lastText) return
      lastText = text
      if (out.isTTY) {
        out.write(`\r\x1b[K${text}`)
        open = true
      } else if (performance.now() - lastAt > 1_000) {
        out.write(`${text}\n`)
        lastAt = performance.now()
      }
    },
  }
}
