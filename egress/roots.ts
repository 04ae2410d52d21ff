import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { getCACertificates } from 'node:tls'
import { ConfigError } from '../config.ts'

/**
 * The roots that a receiver's certificate may go back to, as PEM: Node's own and the file's. Undefined without a file: Node's
 * own are meant then. @throws ConfigError naming EGRESS_CA when the file cannot be read or holds anything but certificates.
 */
export function trustedRoots(caFile: string | undefined): string[] | undefined {
  if (caFile === undefined) return undefined
  const pem = read(caFile)
  const fault = faultOfPem(pem)
  if (fault) throw new ConfigError([`EGRESS_CA: ${caFile} ${fault}`])
  return [...getCACertificates('default'), pem]
}

function read(caFile: string): string {
  try {
    return readFileSync(caFile, 'utf8')
  } catch (error) {
    throw new ConfigError([
      `EGRESS_CA: ${caFile} cannot be read: ${error instanceof Error ? error.message : error}`,
    ])
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

/** What is wrong with a PEM file of roots: of one that is broken TLS would take what comes before it, and say nothing. */
export function faultOfPem(pem: string): string | undefined {
  const found = pem.match(CERTIFICATE) ?? []
  if (found.length === 0) return 'holds no certificate in PEM (-----BEGIN CERTIFICATE-----)'
  const broken = found.findIndex((certificate) => !isCertificate(certificate))
  return broken < 0 ? undefined : `holds a broken certificate: number ${broken + 1} of ${found.length}`
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined
  } catch {
    return false
  }
}
