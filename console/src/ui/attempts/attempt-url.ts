import { urlHash as hashOf } from '../../../../delivery/url-hash.ts'

/** The URLs of a destination's webhooks, in order. `since`: the latest time at which they may have changed, ISO 8601. */
export type Urls = { urls: readonly string[]; since: string }

type Attempted = { urlIndex: number | null; startedAt: string | null; urlHash?: number | null }

/** Finds the URL of an attempt, whose record has only the position of the webhook and a hash of the URL. */
export function urlOf({ urlIndex, startedAt, urlHash }: Attempted, known?: Urls): string {
  if (urlIndex === null) return ''
  const number = `URL ${urlIndex + 1}`
  if (!known) return number
  const url = known.urls[urlIndex]
  if (urlHash != null) {
    if (url !== undefined && hashOf(url) === urlHash) return url
    // the webhook may have another position now
    return known.urls.find((one) => hashOf(one) === urlHash) ?? `${number}, since changed`
  }
  // a record of an earlier version, which has no hash
  if (startedAt !== null && startedAt < known.since) return `${number}, possibly changed since`
  return url ?? number
}
