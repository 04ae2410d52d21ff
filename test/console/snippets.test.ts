import { expect, test } from 'vitest'
import { snippets } from '../../console/src/views/sources/snippets.ts'

const curl = (writeKey: string) =>
  snippets({ writeKey, endpoint: 'http://localhost:8080' }).find(({ id }) => id === 'curl')?.code ?? ''

test('each way to send names the write key and where to send to', () => {
  for (const { code } of snippets({ writeKey: 'shop-write-key', endpoint: 'http://localhost:8080' })) {
    expect(code).toContain('shop-write-key')
    expect(code).toContain('http://localhost:8080')
  }
})

test('a write key that a shell would read otherwise is quoted', () => {
  expect(curl('a$b`c"d')).toContain(`-u 'a$b\`c"d:'`)
  expect(curl("it's")).toContain(`-u 'it'\\''s:'`)
})
