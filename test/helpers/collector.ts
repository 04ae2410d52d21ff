import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A span as in OTLP's JSON, with its service. */
export type Span = {
  service: string
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  attributes: Record<string, string | number>
  links: { traceId: string; spanId: string }[]
  /** 2: error. */
  status: number
}

export type Collector = {
  url: string
  spans: Span[]
  /** Bodies as received. */
  bodies: string[]
  /** Stops answering requests. */
  hang(): void
  close(): Promise<void>
}

/** A receiver of OTLP over HTTP in JSON. */
export async function startCollector(): Promise<Collector> {
  const spans: Span[] = []
  const bodies: string[] = []
  let hangs = false
  const server = createServer(async (request, response) => {
    // a stray request from another test, whose own server had this port before
    if (request.method !== 'POST' || request.url !== '/v1/traces') {
      response.writeHead(404).end()
      return
    }
    const body = Buffer.concat(await request.toArray()).toString()
    if (hangs) return
    bodies.push(body)
    spans.push(...read(JSON.parse(body)))
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    bodies,
    hang: () => {
      hangs = true
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

type Attribute = { key: string; value: { stringValue?: string; intValue?: number | string } }
type Sent = {
  resourceSpans: {
    resource: { attributes: Attribute[] }
    scopeSpans: {
      spans: (Pick<Span, 'traceId' | 'spanId' | 'parentSpanId' | 'name' | 'kind'> & {
        attributes?: Attribute[]
        links?: Span['links']
        status?: { code?: number }
      })[]
    }[]
  }[]
}

function read({ resourceSpans }: Sent): Span[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(plain(resource.attributes)['service.name'])
    return scopeSpans.flatMap(({ spans }) =>
      spans.map(({ attributes = [], links = [], status = {}, ...span }) => ({
        ...span,
        service,
        attributes: plain(attributes),
        links,
        status: status.code ?? 0,
      })),
    )
  })
}

const plain = (attributes: readonly Attribute[]): Span['attributes'] =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)] as const),
  )
