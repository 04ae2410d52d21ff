import type { WriteStream } from 'node:tty'
import type { Addresses } from './settings.ts'

export type Terminal = {
  line(text: string): void
  /** Replaces the previous progress text on a terminal; elsewhere prints at most a line per second. */
  progress(text: string): void
}

export function terminalOn(out: Pick<WriteStream, 'write' | 'isTTY'>): Terminal {
  let open = false
  let lastAt = Number.NEGATIVE_INFINITY
  let lastText = ''
  return {
    line: (text) => {
      if (open) out.write('\n')
      open = false
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

/** Printed once all processes are ready. The commands work as they are in any sh. */
export function banner(at: Addresses): string {
  return `
sluice ready

  ingest     ${at.ingest}    POST /v1/track, /v1/batch, ...
  console    ${at.control}    open in a browser and sign in with the token below
  control    ${at.control}    the API, under /api
  metrics    ${at.ingestMetrics}/metrics    ingest
             ${at.control}/metrics    control
             ${at.router}/metrics    router
             ${at.deliverer}/metrics    deliverer
  Kafka      ${at.brokers}
  registry   ${withoutPassword(at.registryUrl)}
  token      ${at.controlToken}

${egress(at.egressAllow)}
Try it: create a source and a destination, then send a call with the write key. (For a full demo: npm start -- --demo)

  AUTH='Authorization: Bearer ${at.controlToken}'
  curl -s ${at.control}/api/sources -H "$AUTH" -H 'Content-Type: application/json' \\
    -d '{"id": "shop", "name": "Shop", "writeKey": "shop-write-key"}'
  curl -s ${at.control}/api/destinations -H "$AUTH" -H 'Content-Type: application/json' \\
    -d '{"id": "crm", "name": "CRM", "sourceIds": ["shop"], "sharedSecret": "s3cret", "webhooks": [{"url": "http://localhost:9000/"}]}'
  curl -s ${at.ingest}/v1/track -u shop-write-key: -d '{"userId": "u1", "event": "Signed Up"}'

Press Ctrl-C to stop.
`
}

const egress = (allowed: string) =>
  allowed ? `Webhooks may also reach these non-public addresses (EGRESS_ALLOW): ${allowed}\n` : ''

function withoutPassword(text: string): string {
  const url = new URL(text)
  if (url.password) url.password = '***'
  return url.href
}
