import { expect, test } from 'vitest'
import { apiTypes, type Document } from '../../console/generate/api-types.ts'
import { api } from '../control/api.ts'

test('the types of the console match the API (`npm run console-types` updates them)', async () => {
  const { json } = await api().ask({ url: '/api/openapi.json' })
  const document: Document = json // the served OpenAPI document
  await expect(apiTypes(document)).toMatchFileSnapshot('../../console/src/api/schema.ts')
})
