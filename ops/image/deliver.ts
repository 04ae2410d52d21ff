import { createHmac, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { stdout } from 'node:process'
import got from 'got'
import { until } from '../../harness/until.ts'

/*
 * node deliver.ts HOST: sends calls to docker-compose.yml's ingest, and waits until a receiver on this machine, HOST
 * for the containers, has a signed webhook for each.
 */
const CALLS = 100
const SECRET = randomBytes(16).toString('hex')
const [, , host = '127.0.0.1'] = process.argv
const id = `try-${randomBytes(4).toString('hex')}`
const writeKey = randomBytes(16).toString('hex')

const arrived = new Set<string>()
let unsigned = 0
const receiver = createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray())
  const signature = createHmac('sha1', SECRET).update(body).digest('hex')
  if (request.headers['x-signature'] === signature) arrived.add(String(request.headers['x-message-id']))
  else unsigned += 1
  response.end()
})
await new Promise<void>((resolve) => receiver.listen(0, '0.0.0.0', resolve))
const { port } = receiver.address() as AddressInfo

const api = got.extend({
  prefixUrl: 'http://127.0.0.1:8081/api',
  headers: { authorization: `Bearer ${process.env.CONTROL_TOKEN}` },
  retry: { limit: 0 },
})
await api.post('sources', { json: { id, name: 'Try', writeKey } })
const webhooks = [{ url: `http://${host}:${port}/` }]
await api.post('destinations', { json: { id, name: 'Try', sourceIds: [id], sharedSecret: SECRET, webhooks } })

const answers = new Map<string, number>()
async function send(messageId: string): Promise<boolean> {
  const { statusCode, body } = await got.post('http://127.0.0.1:8080/v1/track', {
    username: writeKey,
    json: { userId: 'u1', event: 'Tried', messageId },
    throwHttpErrors: false,
    retry: { limit: 0 },
  })
  const answer = statusCode === 200 ? '200' : `${statusCode} ${body.slice(0, 100)}`
  answers.set(answer, (answers.get(answer) ?? 0) + 1)
  return statusCode === 200
}

// ingest and router know new settings within a second, or later on a busy machine
let first = 0
const isKnown = async () => arrived.size > 0 || ((await send(`${id}-first-${first++}`)) && arrived.size > 0)
await until(isKnown, { message: () => `a first webhook arrives; answers: ${JSON.stringify([...answers])}` })
stdout.write(`answers until the first webhook: ${JSON.stringify(Object.fromEntries(answers))}\n`)
answers.clear()
const ids = Array.from({ length: CALLS }, (_, index) => `${id}-${index}`)
for (const messageId of ids) await send(messageId)
const isComplete = () => ids.every((messageId) => arrived.has(messageId))
await until(isComplete, { message: () => `all webhooks arrive; there are ${arrived.size}` })
stdout.write(
  `${JSON.stringify(Object.fromEntries(answers))}, ${arrived.size} signed webhooks, ${unsigned} others\n`,
)
process.exit(answers.get('200') === CALLS && unsigned === 0 ? 0 : 1)
