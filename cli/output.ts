import { styleText } from 'node:util'

export type Style = 'green' | 'yellow' | 'red' | 'dim'

export type Output = {
  line(text: string): void
  /** As it is, without a colour, where nobody looks. */
  styled(style: Style, text: string): string
  /** Aborted when whoever read has gone (`sluice dead | head -1`): all further lines are dropped. */
  closed: AbortSignal
}

export function outputTo(stream: NodeJS.WriteStream): Output {
  const closing = new AbortController()
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    closing.abort()
  })
  return {
    line(text) {
      if (!closing.signal.aborted) stream.write(`${text}\n`)
    },
    // asks whether it is a terminal, and NO_COLOR
    styled: (style, text) => styleText(style, text, { stream }),
    closed: closing.signal,
  }
}
