import { expect, test } from 'vitest'
import { apiTypes, type Document } from '../../console/generate/api-types.ts'
import { CATALOG } from '../../rules/catalog.ts'
import { api } from '../control/api.ts'

test('the types of the console match the API (`npm run console-types` updates them)', async () => {
  const { json } = await api().ask({ url: '/api/openapi.json' })
  const document: Document = json // the served OpenAPI document
  await expect(apiTypes(document)).toMatchFileSnapshot('../../console/src/api/client/schema.ts')
})

test("the console's catalog of shapes is up to date (`npm run console-types` updates it)", async () => {
  const entries = CATALOG.map(({ id, title, shape }) => ({ id, title, shape }))
  const text = `${JSON.stringify(entries, null, 2)}\n`
  await expect(text).toMatchFileSnapshot('../../console/src/views/rules/catalog.json')
})
