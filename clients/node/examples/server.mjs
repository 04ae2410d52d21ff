// A server that sends all queued calls before it exits, on SIGTERM and Ctrl-C.
import { createServer } from 'node:http'
import { Analytics } from 'sluice-analytics'

const analytics = new Analytics({
  writeKey: process.env.WRITE_KEY ?? 'shop-write-key',
  endpoint: process.env.ENDPOINT ?? 'http://localhost:8080/v1/batch',
  closeTimeout: 15_000, // Kubernetes sends SIGKILL 30 s after SIGTERM
  onFailure: ({ error, messages }) =>
    console.error(`${messages.length} calls will not arrive: ${error.message}`),
})

const server = createServer((request, response) => {
  try {
    analytics.page({ anonymousId: 'visitor-1', name: request.url })
  } catch (error) {
    console.error(error.message) // uncaught, it would end the process, and all queued calls would be lost
  }
  response.end('hello\n')
})
server.listen(Number(process.env.PORT ?? 3000), 'localhost', () => {
  console.log(`listening on ${server.address().port}`)
})

async function end() {
  server.close() // finish open requests first, because they make calls
  await new Promise((resolve) => server.once('close', resolve))
  await analytics.close().catch((error) => {
    console.error(error.message)
    process.exitCode = 1
  })
}
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, end)
