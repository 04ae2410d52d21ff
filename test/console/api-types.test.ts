import { expect, test } from 'vitest'
import { apiTypes, type Document } from '../../console/generate/api-types.ts'
import { api } from '../control/api.ts'

test('the console is checked against the API as it is: `npm run console-types` writes its types anew', async () => {
  const { json } = await api().ask({ url: '/api/openapi.json' })
  const document: Document = json // what has been served as OpenAPI is that
  await expect(apiTypes(document)).toMatchFileSnapshot('../../console/src/api/schema.ts')
})
