import { expect, test } from 'vitest'
import { aReceiver } from '../../helpers/system.ts'
import { until } from '../../helpers/until.ts'
import { sluice } from './system.ts'

/** A customer's requests, with a token of the workspace. */
async function customerOf(workspaceId: string) {
  const { body } = await sluice.api('post', `workspaces/${workspaceId}/tokens`)
  return (method: 'get' | 'post' | 'delete', path: string, json?: object) =>
    sluice.api(method, path, json, { authorization: `Bearer ${body.token}` })
}

test('customers set up their own webhooks, and see only their own deliveries', async () => {
  // a destination removed a moment ago would be counted instead of a new one
  await sluice.routerFollows()
  const customers = await Promise.all(
    ['acme', 'bolt'].map(async (workspaceId) => {
      const writeKey = `${workspaceId}-write-key`
      await sluice.api('post', 'sources', {
        id: `${workspaceId}-app`,
        name: workspaceId,
        writeKey,
        workspaceId,
      })
      const [ask, receiver] = await Promise.all([customerOf(workspaceId), aReceiver()])
      const made = await ask('post', 'destinations', {
        name: 'Hook',
        sourceIds: [`${workspaceId}-app`],
        webhooks: [{ url: receiver.url }],
      })
      expect(made).toMatchObject({ status: 201, body: { workspaceId } })
      return { workspaceId, writeKey, ask, receiver, id: String(made.body.id) }
    }),
  )
  await sluice.routerFollows()
  for (const { workspaceId, writeKey } of customers)
    await sluice.send(
      [{ type: 'track', userId: 'u1', event: 'Paid', messageId: `${workspaceId}-1` }],
      writeKey,
    )

  for (const { workspaceId, ask, receiver, id } of customers) {
    await until(() => receiver.arrivals.length > 0)
    expect(receiver.arrivals.map(({ headers }) => headers['x-message-id'])).toEqual([`${workspaceId}-1`])
    const listed = await until(async () => {
      const { body } = await ask('get', 'deliveries?state=delivered')
      const items = body.items as { id: string; messageId: string }[]
      return items.length > 0 && items
    })
    expect(listed.map(({ messageId }) => messageId)).toEqual([`${workspaceId}-1`])
    const [entry] = listed
    expect(await ask('get', `deliveries/${entry?.id}`)).toMatchObject({
      status: 200,
      body: { destinationId: id },
    })
    for (const other of customers.filter((each) => each.id !== id)) {
      expect((await other.ask('get', `deliveries/${entry?.id}`)).status).toBe(404)
      expect((await other.ask('delete', `destinations/${id}`)).status).toBe(404)
    }
    const test = await ask('post', `destinations/${id}/test`)
    expect(test).toMatchObject({ status: 200, body: { results: [{ outcome: 'delivered' }] } })
    expect((await ask('get', 'events?userId=u1')).status).toBe(403)
  }

  const [acme] = customers
  expect((await acme?.ask('delete', 'session'))?.status).toBe(204)
  expect((await acme?.ask('get', 'destinations'))?.status).toBe(401)
})
