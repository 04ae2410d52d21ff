import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { tlsOptions } from '../../kafka/client.ts'
import { aCertificate, hasOpenssl } from '../helpers/certificate.ts'

async function fileWith(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'a.pem'), text)
  return join(folder, 'a.pem')
}

const none = { caFile: undefined, certFile: undefined, keyFile: undefined }
const [root = ''] = rootCertificates

test("TLS is off without KAFKA_SSL, and uses Node's roots without files", () => {
  expect(tlsOptions(false)).toBe(false)
  expect(tlsOptions(true)).toBe(true)
})

test("the roots of KAFKA_SSL_CA replace Node's", async () => {
  expect(tlsOptions({ ...none, caFile: await fileWith(root) })).toEqual({ ca: root })
})

test('a file without roots is a fault of KAFKA_SSL_CA', async () => {
  const caFile = await fileWith('nothing')
  expect(() => tlsOptions({ ...none, caFile })).toThrow(`KAFKA_SSL_CA: ${caFile} has no certificate in PEM`)
})

describe.skipIf(!hasOpenssl)('a certificate of ours', () => {
  const make = () => aCertificate({ names: 'DNS:client', days: [-1, 1], selfSigned: true })

  test('is used with its key', async () => {
    const { cert, key } = await make()
    const files = { certFile: await fileWith(cert), keyFile: await fileWith(key) }
    expect(tlsOptions({ ...none, ...files })).toEqual({ cert, key })
  })

  test('with another key is a fault of both settings, and its text contains neither', async () => {
    const [{ cert }, { key }] = [await make(), await make()]
    const files = { certFile: await fileWith(cert), keyFile: await fileWith(key) }
    expect(() => tlsOptions({ ...none, ...files })).toThrow(
      /KAFKA_SSL_CERT, KAFKA_SSL_KEY: not a matching pair .*mismatch/,
    )
  })
})
