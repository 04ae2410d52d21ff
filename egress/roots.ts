import { getCACertificates } from 'node:tls'
import { readCertificates } from '../process/pem.ts'

/**
 * The roots that a receiver's certificate may go back to, as PEM: Node's own and the file's. Undefined without a file: Node's
 * own are meant then. @throws ConfigError naming EGRESS_CA when the file cannot be read or holds anything but certificates.
 */
export function trustedRoots(caFile: string | undefined): string[] | undefined {
  if (caFile === undefined) return undefined
  return [...getCACertificates('default'), readCertificates('EGRESS_CA', caFile)]
}
