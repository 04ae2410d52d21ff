import { isIPv6 } from 'node:net'

export type IngestAt = {
  /** As the settings say; without it ingest is taken to be on the host that the console is on. */
  url: string | undefined
  port: number
}

/**
 * The origin and path under which clients reach ingest, without a slash at its end.
 * @param hostname as the browser named it (`Host`, without the port); it goes into a header, so that what is no name gives localhost.
 */
export function ingestAddress({ url, port }: IngestAt, hostname: string): string {
  if (url !== undefined) return url.replace(/\/+$/, '')
  const bare = hostname.replace(/^\[|\]$/g, '')
  if (isIPv6(bare)) return `http://[${bare}]:${port}`
  return `http://${/^[\w.-]{1,253}$/.test(bare) ? bare : 'localhost'}:${port}`
}
