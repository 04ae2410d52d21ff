import { Analytics } from 'sluice-analytics'

const analytics = new Analytics({
  writeKey: process.env.WRITE_KEY ?? 'shop-write-key',
  endpoint: process.env.ENDPOINT ?? 'http://localhost:8080/v1/batch',
})

analytics.identify({ userId: 'u1', traits: { email: 'ada@example.com' } })
analytics.track({ userId: 'u1', event: 'Signed Up', properties: { plan: 'pro' } })

await analytics.close() // sends all queued calls; throws if that fails
process.stdout.write('2 calls sent\n')
