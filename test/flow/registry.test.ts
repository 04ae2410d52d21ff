import { randomUUID } from 'node:crypto'
import { createServer } from 'node:net'
import got from 'got'
import { expect, inject, onTestFinished, test } from 'vitest'
import { codec, schemaText } from '../../schemas/codec.ts'
import { openCodec, openRegistry } from '../../schemas/registry.ts'
import { anEvent } from '../helpers/events.ts'

const registry = () => openRegistry({ url: inject('registryUrl'), auth: undefined })

test('a schema is registered under its subject with compatibility BACKWARD, also when an earlier start was killed before the rule', async () => {
  const subject = `t${randomUUID().slice(0, 8)}.events-value`
  const url = inject('registryUrl')
  await got.post(`${url}/subjects/${subject}/versions`, { json: { schema: schemaText('event') } })
  const { encode } = await openCodec(registry(), 'event', subject)
  expect(encode(anEvent())[0]).toBe(0)
  expect(await got(`${url}/config/${subject}`).json()).toEqual({ compatibilityLevel: 'BACKWARD' })
})

test('a schema that breaks readers of the present one is refused with the subject named', async () => {
  const subject = `t${randomUUID().slice(0, 8)}.events-value`
  const url = inject('registryUrl')
  const foreign = {
    type: 'record',
    name: 'Event',
    namespace: 'sluice',
    fields: [{ name: 'sourceId', type: 'int' }],
  }
  await got.post(`${url}/subjects/${subject}/versions`, { json: { schema: JSON.stringify(foreign) } })
  await got.put(`${url}/config/${subject}`, { json: { compatibility: 'BACKWARD' } })
  await expect(openCodec(registry(), 'event', subject)).rejects.toThrow(subject)
})

test('a registry that takes connections and never answers holds nobody for longer than its time limit', async () => {
  const server = createServer(() => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const sockets: { destroy(): void }[] = []
  server.on('connection', (socket) => sockets.push(socket))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  const silent = openRegistry(
    { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`, auth: undefined },
    300,
  )
  const bytes = codec('event', 1, silent.client).encode(anEvent())
  const decoded = await codec('event', 2, silent.client).decode(bytes)
  expect(decoded).toMatchObject({ ok: false, reason: 'registry_unreachable' })
})
