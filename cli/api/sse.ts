import { createParser } from 'eventsource-parser'

/** A server-sent event; `data` as it came. */
export type Told = { event: string; id: string | undefined; data: string }

/** Takes a stream of server-sent events in whatever pieces it comes. @returns what each piece completes. */
export function sseParser(): (piece: string) => Told[] {
  let told: Told[] = []
  const parser = createParser({
    onEvent: ({ event = 'message', id, data }) => void told.push({ event, id, data }),
  })
  return (piece) => {
    told = []
    parser.feed(piece)
    return told
  }
}
