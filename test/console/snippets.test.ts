import { expect, test } from 'vitest'
import { snippets } from '../../console/src/views/sources/snippets.ts'

const curl = (writeKey: string) =>
  snippets({ writeKey, endpoint: 'http://localhost:8080' }).find(({ id }) => id === 'curl')?.code ?? ''

test('each snippet contains the write key and the endpoint', () => {
  for (const { code } of snippets({ writeKey: 'shop-write-key', endpoint: 'http://localhost:8080' })) {
    expect(code).toContain('shop-write-key')
    expect(code).toContain('http://localhost:8080')
  }
})

test('a write key with shell characters is quoted', () => {
  expect(curl('a$b`c"d')).toContain(`-u 'a$b\`c"d:'`)
  expect(curl("it's")).toContain(`-u 'it'\\''s:'`)
})
