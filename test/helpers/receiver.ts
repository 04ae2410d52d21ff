import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One request as it came; `status` once it is answered. */
export type Arrival = {
  path: string
  body: string
  headers: IncomingHttpHeaders
  at: number
  status: number | undefined
}

export type Receiver = {
  url: string
  arrivals: Arrival[]
  /** Changes what a path answers from now on: `/status/503` stays as it is, `/switch` answers this, or never. */
  answerWith(status: number | 'hang'): void
  close(): Promise<void>
}

/**
 * Without the further attempts of a delivery, which a receiver that is too slow for the deliverer gets, and may read in another order;
 * an attempt that comes twice stays twice.
 */
export function withoutRetries(arrivals: readonly Arrival[]): Arrival[] {
  const attempts = new Map<unknown, Set<unknown>>()
  return arrivals.filter(({ headers: { 'x-delivery-id': id, 'x-attempt': attempt } }) => {
    const before = attempts.get(id)
    const isRetry = before !== undefined && !before.has(attempt)
    attempts.set(id, new Set(before).add(attempt))
    return !isRetry
  })
}

/** What `withoutRetries` leaves more than once: of each delivery the attempts that came, in their order. */
export function postedAgain(arrivals: readonly Arrival[]): string[] {
  const idOf = ({ headers }: Arrival) => String(headers['x-delivery-id'])
  const left = Map.groupBy(withoutRetries(arrivals), idOf)
  const all = Map.groupBy(arrivals, idOf)
  return [...left]
    .filter(([, { length }]) => length > 1)
    .map(
      ([id]) =>
        `${id}: ${all
          .get(id)
          ?.map(({ headers }) => headers['x-attempt'])
          .join(', ')}`,
    )
}

/**
 * A webhook receiver that fails on instruction, given in the path: `/status/<code>`, `/flaky/<n>` (503 to the first n of each
 * delivery), `/tenth` (503 to the first of one delivery in ten or so), `/hang` (no answer), `/drip` (headers at once, a body that
 * never ends), `/reset`, `/slow/<ms>`, `/switch`, `/echo` (the request's headers).
 * By hand: `node test/helpers/receiver.ts 9000`.
 */
export async function startReceiver(port = 0): Promise<Receiver> {
  const arrivals: Arrival[] = []
  const seen = new Map<string, number>()
  let switched: number | 'hang' = 200
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    const { url = '', headers } = request
    const arrival: Arrival = { path: url, body, headers, at: Date.now(), status: undefined }
    arrivals.push(arrival)
    response.on('finish', () => {
      arrival.status = response.statusCode
    })
    const id = String(headers['x-delivery-id'])
    seen.set(id, (seen.get(id) ?? 0) + 1)
    const [, what = '', argument = ''] = url.split('/')
    answer(what, { request, response, argument: Number(argument), id, times: seen.get(id) ?? 1, switched })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    answerWith: (status) => {
      switched = status
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

type Instruction = {
  request: IncomingMessage
  response: ServerResponse
  argument: number
  /** Of the delivery; `times` it has come, this one included. */
  id: string
  times: number
  switched: number | 'hang'
}

function answer(what: string, { request, response, argument, id, times, switched }: Instruction): void {
  if (what === 'hang' || (what === 'switch' && switched === 'hang')) return
  if (what === 'reset') request.socket.resetAndDestroy()
  else if (what === 'drip') drip(response)
  else if (what === 'echo') response.end(JSON.stringify(request.headers))
  else if (what === 'slow') setTimeout(() => response.end(), argument)
  else if (what === 'status') response.writeHead(argument).end(`answered ${argument}`)
  else if (what === 'flaky') response.writeHead(times <= argument ? 503 : 200).end()
  else if (what === 'tenth') response.writeHead(times === 1 && isTenth(id) ? 503 : 200).end()
  else if (what === 'switch') response.writeHead(Number(switched)).end()
  else response.end('ok')
}

/** Ids are hexadecimal and random. */
const isTenth = (id: string) => Number.parseInt(id.slice(0, 4), 16) % 10 === 0

function drip(response: ServerResponse): void {
  response.writeHead(200)
  const drops = setInterval(() => response.write('.'), 50)
  response.on('close', () => clearInterval(drops))
}

if (import.meta.main) {
  const receiver = await startReceiver(Number(process.argv[2] ?? 0))
  process.stdout.write(`listening on ${receiver.url}\n`)
  setInterval(() => {
    for (const { path, body, headers } of receiver.arrivals.splice(0))
      process.stdout.write(`${path} ${headers['x-delivery-id']} ${body}\n`)
  }, 100)
}
