import type { Addresses } from './addresses.ts'

/** What is printed once, when everything serves. The two commands work as they are, in any sh. */
export function banner(at: Addresses): string {
  return `
sluice ready

  ingest     ${at.ingest}    POST /v1/track, /v1/batch, ...
  control    ${at.control}    settings, under /api
  metrics    ${at.ingestMetrics}/metrics  ${at.control}/metrics  ${at.router}/metrics  ${at.deliverer}/metrics
  Kafka      ${at.brokers}
  registry   ${withoutPassword(at.registryUrl)}
  token      ${at.controlToken}

${egress(at.egressAllow)}
Try it: make a source, then send a call with its write key.

  KEY=$(curl -s ${at.control}/api/sources -H 'Authorization: Bearer ${at.controlToken}' \\
    -H 'Content-Type: application/json' -d '{"name": "Shop"}' | sed 's/.*"writeKey": *"\\([^"]*\\)".*/\\1/')
  curl -s ${at.ingest}/v1/track -u "$KEY:" -d '{"userId": "u1", "event": "Signed Up"}'

Ctrl-C ends all of it.
`
}

const egress = (allowed: string) =>
  allowed
    ? `Webhooks may reach these addresses although they are not public (EGRESS_ALLOW): ${allowed}\n`
    : ''

function withoutPassword(text: string): string {
  const url = new URL(text)
  if (url.password) url.password = '***'
  return url.href
}
