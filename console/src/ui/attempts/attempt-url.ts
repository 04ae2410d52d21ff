import { urlHash as hashOf } from '../../../../delivery/url-hash.ts'

/** URLs of a destination's webhooks, in order. `since`: ISO 8601, when they last may have changed. */
export type Urls = { urls: readonly string[]; since: string }

type Attempted = { urlIndex: number | null; startedAt: string | null; urlHash?: number | null }

/** An attempt's record has only the webhook's position and a hash of the URL. */
export function urlOf({ urlIndex, startedAt, urlHash }: Attempted, known?: Urls): string {
  if (urlIndex === null) return ''
  const number = `URL ${urlIndex + 1}`
  if (!known) return number
  const url = known.urls[urlIndex]
  if (urlHash != null) {
    if (url !== undefined && hashOf(url) === urlHash) return url
    // the webhook may have moved
    return known.urls.find((one) => hashOf(one) === urlHash) ?? `${number}, since changed`
  }
  // earlier versions recorded no hash
  if (startedAt !== null && startedAt < known.since) return `${number}, possibly changed since`
  return url ?? number
}
