import { readFileSync } from 'node:fs'

/** For Kafka, files, and the port for probes with its 200 connections. */
const OTHER_FILES = 500

/**
 * As many connections as open files allow. Otherwise one client could use up all files before the limit of connections
 * applies: the kernel would then refuse everyone, probes too.
 */
export function connectionsWithin(most: number): number {
  const files = openFiles()
  return Math.min(most, Math.max(files - OTHER_FILES, Math.floor(files / 2)))
}

/** The limit of this process, which Node has raised as far as it may. Infinity where only the kernel knows. */
function openFiles(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return Number(soft ?? Number.POSITIVE_INFINITY)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
