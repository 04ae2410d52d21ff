import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const dist = fileURLToPath(new URL('../../console/dist', import.meta.url))

async function sizeOf(end: string): Promise<number> {
  const names = (await readdir(`${dist}/assets`)).filter((name) => name.endsWith(end))
  const sizes = await Promise.all(
    names.map(async (name) => (await readFile(`${dist}/assets/${name}`)).length),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

test('the whole console is smaller than 300 KB compressed', async () => {
  const [brotli, gzip] = [await sizeOf('.br'), await sizeOf('.gz')]
  expect(brotli).toBeGreaterThan(50_000)
  expect(Math.max(brotli, gzip)).toBeLessThan(300_000)
})

test('the page loads nothing from other hosts', async () => {
  const page = await readFile(`${dist}/index.html`, 'utf8')
  const loaded = [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url = '']) => url)
  expect(loaded.length).toBeGreaterThan(1)
  expect(loaded.filter((url) => !url.startsWith('/assets/'))).toEqual([])
})
