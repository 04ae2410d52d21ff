import type { Addresses } from './addresses.ts'

/** What is printed once, when everything serves. The two commands work as they are, in any sh. */
export function banner(at: Addresses): string {
  return `
sluice ready

  ingest     ${at.ingest}    POST /v1/track, /v1/batch, ...
  console    ${at.control}    in a browser: sign in with the token below
  control    ${at.control}    the same for programs, under /api
  metrics    ${at.ingestMetrics}/metrics    ingest
             ${at.control}/metrics    control
             ${at.router}/metrics    router
             ${at.deliverer}/metrics    deliverer
  Kafka      ${at.brokers}
  registry   ${withoutPassword(at.registryUrl)}
  token      ${at.controlToken}

${egress(at.egressAllow)}
Try it: make a source and a destination, then send a call with the write key. (To see it all at work: npm start -- --demo)

  AUTH='Authorization: Bearer ${at.controlToken}'
  curl -s ${at.control}/api/sources -H "$AUTH" -H 'Content-Type: application/json' \\
    -d '{"id": "shop", "name": "Shop", "writeKey": "shop-write-key"}'
  curl -s ${at.control}/api/destinations -H "$AUTH" -H 'Content-Type: application/json' \\
    -d '{"id": "crm", "name": "CRM", "sourceIds": ["shop"], "sharedSecret": "s3cret", "webhooks": [{"url": "http://localhost:9000/"}]}'
  curl -s ${at.ingest}/v1/track -u shop-write-key: -d '{"userId": "u1", "event": "Signed Up"}'

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
