import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { trustedRoots } from '../../egress/egress.ts'
import { ConfigError } from '../../process/config-error.ts'

const [root = '', other = ''] = rootCertificates

async function fileWith(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'ca.pem'), text)
  return join(folder, 'ca.pem')
}

test("without a file Node's own roots are used", () => {
  expect(trustedRoots(undefined)).toBeUndefined()
})

test("a file's roots are trusted in addition to Node's own", async () => {
  const pem = `our root\n${root}\n${other}\n`
  const roots = trustedRoots(await fileWith(pem))
  expect(roots?.at(-1)).toBe(pem)
  expect(roots).toContain(root)
})

test.each([
  ['', 'has no certificate in PEM'],
  ['-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n', 'has no certificate in PEM'],
  [`${root}\n${other.replace(/[A-Za-z0-9]{40}\n/, '\n')}`, 'has a broken certificate: number 2 of 2'],
])('a file that is not completely valid is a fault of EGRESS_CA: %#', async (text, fault) => {
  const file = await fileWith(text)
  expect(() => trustedRoots(file)).toThrow(ConfigError)
  expect(() => trustedRoots(file)).toThrow(`EGRESS_CA: ${file} ${fault}`)
})

test('a missing file is a fault too', () => {
  expect(() => trustedRoots('/no/such.pem')).toThrow(/EGRESS_CA: \/no\/such\.pem cannot be read: ENOENT/)
})
