/** A server-sent event; `data` as it came. */
export type Told = { event: string; id: string | undefined; data: string }

/** Takes a stream of server-sent events in whatever pieces it comes. @returns what each piece completes. */
export function sseParser(): (piece: string) => Told[] {
  let waiting = ''
  return (piece) => {
    waiting += piece
    const blocks = waiting.split('\n\n')
    waiting = blocks.pop() ?? ''
    return blocks.flatMap(toldBy)
  }
}

/** Comments and times to wait are no events. */
function toldBy(block: string): Told[] {
  const fields = block.split('\n').flatMap((line) => {
    const [, name, value] = /^([a-z]+): ?(.*)$/.exec(line) ?? []
    return name === undefined || value === undefined ? [] : [[name, value] as const]
  })
  const data = fields.filter(([name]) => name === 'data').map(([, value]) => value)
  const last = (wanted: string) => fields.findLast(([name]) => name === wanted)?.[1]
  return data.length > 0 ? [{ event: last('event') ?? 'message', id: last('id'), data: data.join('\n') }] : []
}
