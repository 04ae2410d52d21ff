import { readFileSync } from 'node:fs'

/** For Kafka, files, and the 200 connections of the port for probes. */
const OTHER_FILES = 500

/**
 * As many connections as the limit of open files allows. If files ran out first, the kernel would refuse everyone, probes
 * too.
 */
export function connectionsWithin(most: number): number {
  const files = openFiles()
  return Math.min(most, Math.max(files - OTHER_FILES, Math.floor(files / 2)))
}

/** The soft limit, which Node raises to the hard one when it starts. Infinity on systems other than Linux. */
function openFiles(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return Number(soft ?? Number.POSITIVE_INFINITY)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
