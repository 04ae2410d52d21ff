import { expect, test } from 'vitest'
import { api } from '../api.ts'

const { origin } = new URL('http://control.example')

test('the description is a page that is open to anyone, and loads nothing from another host', async () => {
  const { ask } = api()
  const { status, headers, text } = await ask({ url: '/docs', token: '' })
  expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
  const policy = String(headers['content-security-policy'])
  expect(policy).toContain("default-src 'none'")
  // what a policy would let in besides
  expect(policy).not.toMatch(/https?:|\*|unsafe/)
  const loaded = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url = '']) => url)
  expect(loaded).toContain('/docs/swagger-ui-bundle.js')
  for (const url of loaded.filter((each) => each !== 'data:,')) {
    expect(new URL(url, origin).origin).toBe(origin)
    const file = await ask({ url, token: '' })
    expect([file.status, file.headers['x-content-type-options']]).toEqual([200, 'nosniff'])
    expect(file.headers['content-type']).toMatch(/^text\/(css|javascript); charset=utf-8$/)
    expect(file.text.length).toBeGreaterThan(100)
  }
})

test('the page shows what the API serves', async () => {
  const { ask } = api()
  const { text } = await ask({ url: '/docs/start.js', token: '' })
  const [, url = ''] = /url: '([^']+)'/.exec(text) ?? []
  expect(await ask({ url, token: '' })).toMatchObject({ status: 200, json: { openapi: '3.1.0' } })
})
