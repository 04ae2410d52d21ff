import type { WriteStream } from 'node:tty'
import type { Addresses } from './settings.ts'

export type Terminal = {
  line(text: string): void
  /** Replaces the last progress text. Where there is no terminal, prints at most a line per second. */
  progress(text: string, isLast?: boolean): void
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
    progress: (text, isLast = false) => {
      if (text === lastText) return
      lastText = text
      if (out.isTTY) {
        out.write(`\r\x1b[K${text}${isLast ? '\n' : ''}`)
        open = !isLast
      } else if (isLast || performance.now() - lastAt > 1_000) {
        out.write(`${text}\n`)
        lastAt = performance.now()
      }
    },
  }
}

/** A free port for the user's receiver. */
export type FirstSteps = { receiverPort: number }

/** The commands work as they are in any sh. */
export function banner(at: Addresses, firstSteps?: FirstSteps): string {
  return `
sluice ready

  ingest     ${at.ingest}    POST /v1/track, /v1/batch, ...
  console    ${consoleLine(at)}
  control    ${at.control}    the API, under /api
  metrics    ${at.ingestMetrics}/metrics    ingest
             ${at.controlMetrics}/metrics    control
             ${at.router}/metrics    router
             ${at.deliverer}/metrics    deliverer
  Kafka      ${at.brokers}
  registry   ${withoutPassword(at.registryUrl)}
  token      ${at.controlToken}

${egress(at.egressAllow)}${firstSteps ? tryIt(at, firstSteps) : ''}
Press Ctrl-C to stop.
`
}

const consoleLine = ({ control, consoleUrl }: Addresses) =>
  consoleUrl
    ? `${consoleUrl}    open in a browser and sign in with single sign-on`
    : `${control}    open in a browser and sign in with the token below`

/** Ingest knows a new source within a second. */
const tryIt = ({ control, ingest, controlToken }: Addresses, { receiverPort }: FirstSteps) => `
Try it in a second terminal: a receiver that prints what it gets (kill %1 stops it), a source, a destination, and a call.
(Or let npm start -- --demo do it.)

  node -e 'require("http").createServer((q, r) => { q.on("data", d => console.log(q.headers["x-signature"], String(d))); r.end() }).listen(${receiverPort})' &
  AUTH='Authorization: Bearer ${controlToken}'
  curl -s -w '\\n' ${control}/api/sources -H "$AUTH" -H 'Content-Type: application/json' \\
    -d '{"id": "shop", "name": "Shop", "writeKey": "shop-write-key"}'
  curl -s -w '\\n' ${control}/api/destinations -H "$AUTH" -H 'Content-Type: application/json' \\
    -d '{"id": "crm", "name": "CRM", "sourceIds": ["shop"], "sharedSecret": "s3cret", "webhooks": [{"url": "http://127.0.0.1:${receiverPort}/"}]}'
  sleep 1
  curl -s -w '\\n' ${ingest}/v1/track -u shop-write-key: -d '{"userId": "u1", "event": "Signed Up"}'
`

const egress = (allowed: string) =>
  allowed ? `Webhooks may also reach these non-public addresses (EGRESS_ALLOW): ${allowed}\n` : ''

function withoutPassword(text: string): string {
  const url = new URL(text)
  if (url.password) url.password = '***'
  return url.href
}
