import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { ConfigError } from './config-error.ts'
import { messageOf } from './thrown.ts'

/** @throws ConfigError when the file cannot be read. */
export function readPem(setting: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError([`${setting}: ${file} cannot be read: ${messageOf(error)}`])
  }
}

/** @throws ConfigError also when it has no certificate, or a broken one. */
export function readCertificates(setting: string, file: string): string {
  const pem = readPem(setting, file)
  const fault = faultOf(pem)
  if (fault) throw new ConfigError([`${setting}: ${file} ${fault}`])
  return pem
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

/** Node silently ignores a broken certificate and everything after it. */
function faultOf(pem: string): string | undefined {
  const found = pem.match(CERTIFICATE) ?? []
  if (found.length === 0) return 'has no certificate in PEM (-----BEGIN CERTIFICATE-----)'
  const broken = found.findIndex((certificate) => !isCertificate(certificate))
  return broken < 0 ? undefined : `has a broken certificate: number ${broken + 1} of ${found.length}`
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined
  } catch {
    return false
  }
}

/** Matches Node's messages about certificates without a trusted root. */
export const isUntrusted = (message: string): boolean =>
  /self-signed certificate|unable to (get|verify)|certificate signature failure/.test(message)
