import { createParser } from 'eventsource-parser'

/** `data` is unparsed. */
export type ServerEvent = { event: string; id: string | undefined; data: string }

/** Each call returns the events that its piece completes. */
export function sseParser(): (piece: string) => ServerEvent[] {
  let events: ServerEvent[] = []
  const parser = createParser({
    onEvent: ({ event = 'message', id, data }) => void events.push({ event, id, data }),
  })
  return (piece) => {
    events = []
    parser.feed(piece)
    return events
  }
}
