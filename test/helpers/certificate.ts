import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { ServerOptions } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startReceiver } from '../../harness/receiver.ts'
import { closing } from './cluster.ts'

// a tool that a machine may lack; .ci/run installs it
export const hasOpenssl = spawnSync('openssl', ['version']).status === 0

/** `names`: as in subjectAltName. `days`: the validity, from and to, in days from today. */
export type Certificate = { names: string; days: [from: number, to: number]; selfSigned: boolean }

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
const CA = `[ca]
default_ca = test
[test]
database = ./index
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
`

/** PEM texts. `root`: the certificate that signed it; itself if it is self-signed. */
export type Made = { key: string; cert: string; root: string }

/** Uses openssl's CA, the only part of it that can set any dates in every version. */
export async function aCertificate({ names, days, selfSigned }: Certificate): Promise<Made> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  try {
    return await made({ names, days, selfSigned }, folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function made({ names, days, selfSigned }: Certificate, folder: string): Promise<Made> {
  await writeFile(join(folder, 'ca.cnf'), CA)
  await writeFile(join(folder, 'index'), '')
  const openssl = (...args: string[]) => {
    const { status, stderr } = spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' })
    if (status !== 0) throw new Error(`openssl ${args[0]}: ${stderr}`)
  }
  const read = (name: string) => readFile(join(folder, name), 'utf8')
  const who = ['-subj', '/CN=test', '-addext', `subjectAltName=${names}`]
  openssl('req', '-new', ...KEY, ...who, '-keyout', 'leaf.key', '-out', 'leaf.csr')
  openssl(
    'req',
    '-x509',
    ...KEY,
    '-days',
    '2',
    '-subj',
    '/CN=root',
    '-keyout',
    'root.key',
    '-out',
    'root.pem',
  )
  const [from, to] = days.map((each) => `${asn1(each)}`)
  const dates = ['-startdate', from ?? '', '-enddate', to ?? '']
  const by = selfSigned
    ? ['-selfsign', '-keyfile', 'leaf.key']
    : ['-cert', 'root.pem', '-keyfile', 'root.key']
  openssl(
    'ca',
    '-batch',
    '-notext',
    '-config',
    'ca.cnf',
    ...by,
    ...dates,
    '-in',
    'leaf.csr',
    '-out',
    'leaf.pem',
  )
  const cert = await read('leaf.pem')
  return { key: await read('leaf.key'), cert, root: selfSigned ? cert : await read('root.pem') }
}

/** 20260102030405Z */
const asn1 = (days: number) =>
  new Date(Date.now() + days * 24 * 3_600_000).toISOString().replace(/\.\d+|[-:T]/g, '')

/** An HTTPS receiver that is closed at the end of the test. `requests` counts those that reached it. */
export async function tlsReceiver(options: ServerOptions) {
  const receiver = closing(await startReceiver({ tls: options }))
  return { url: `${receiver.url}/`, requests: () => receiver.arrivals.length }
}
