// index.ts imports this module first: the others fail on an older Node, some only at the first call
import { fault } from './errors.ts'

/** `engines` in package.json has the same version. */
export const MIN_NODE = 22

/**
 * @param version of Node, such as `24.1.0`
 * @throws AnalyticsError `unsupported_node`
 */
export function checkNode(version: string): void {
  if (Number.parseInt(version, 10) >= MIN_NODE) return
  throw fault(
    'unsupported_node',
    `sluice-analytics needs Node ${MIN_NODE} or later, but this process runs on Node ${version}.`,
  )
}

checkNode(process.versions.node)
