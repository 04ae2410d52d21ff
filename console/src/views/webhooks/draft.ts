import type { Destination } from '../../api/destinations.ts'
import type { Fault } from '../../api/errors.ts'

/**
 * A header as it is typed. `stored`: there is a value, which nobody is shown, of a header of this URL and this name; where both
 * are still the same an empty one keeps it.
 */
export type HeaderDraft = {
  key: number
  name: string
  value: string
  stored?: { url: string; name: string }
}
export type WebhookDraft = { key: number; url: string; headers: readonly HeaderDraft[] }

export const MOST_URLS = 5
export const MOST_HEADERS = 5
/** What the API shows in place of a secret, and takes for "as it was". */
export const MASK = '***'

let made = 0
export const newHeader = (): HeaderDraft => ({ key: ++made, name: '', value: '' })
export const newWebhook = (): WebhookDraft => ({ key: ++made, url: '', headers: [] })

type Webhooks = Destination['webhooks']

export const draftOf = (webhooks: Webhooks): WebhookDraft[] =>
  webhooks.map(({ url, headers }) => ({
    key: ++made,
    url,
    headers: Object.keys(headers).map((name) => ({ key: ++made, name, value: '', stored: { url, name } })),
  }))

/** The API finds a stored value by its webhook's URL and its own name. */
export const isKept = ({ stored, name, value }: HeaderDraft, url: string): boolean =>
  value === '' && stored?.url === url.trim() && stored.name.toLowerCase() === name.trim().toLowerCase()

/** What the API takes. Of two headers of one name there would be one left: see `headerFaults`. */
export const webhooksOf = (drafts: readonly WebhookDraft[]): Webhooks =>
  drafts.map(({ url, headers }) => ({
    url: url.trim(),
    headers: Object.fromEntries(
      headers.map((header) => [header.name.trim(), isKept(header, url) ? MASK : header.value]),
    ),
  }))

/** What the API could not see any more, at the places where it would say it. */
function headerFaults(drafts: readonly WebhookDraft[]): Fault[] {
  return drafts.flatMap(({ headers }, index) => {
    const names = headers.map(({ name }) => name.trim().toLowerCase())
    return headers.flatMap((header, place): Fault[] => {
      const pointer = headerPointer(index, header)
      const name = names[place] ?? ''
      if (name === '') return [{ pointer, code: 'required', message: 'give the header a name, or remove it' }]
      if (names.indexOf(name) === place) return []
      return [{ pointer, code: 'duplicate_header', message: 'this header is there already: leave one out' }]
    })
  })
}

/** A value that was stored, and is not for this URL or this name: it has to be typed again. */
function valueFaults(drafts: readonly WebhookDraft[]): Fault[] {
  return drafts.flatMap(({ url, headers }, index) =>
    headers
      .filter((header) => isLost(header, url))
      .map((header) => ({
        pointer: `${headerPointer(index, header)}/value`,
        code: 'nothing_to_keep',
        message: LOST,
      })),
  )
}

/** What can be seen of a URL before the API looks at it. */
const urlFaults = (drafts: readonly WebhookDraft[]): Fault[] =>
  drafts.flatMap(({ url }, index) =>
    /^https?:$/.test(URL.parse(url.trim())?.protocol ?? '')
      ? []
      : [{ pointer: `/webhooks/${index}/url`, code: 'invalid_url', message: NO_URL }],
  )

const NO_URL = 'a full URL beginning with http:// or https:// is needed'

/** What keeps a draft from being saved. */
export const draftFaults = (drafts: readonly WebhookDraft[]): Fault[] => [
  ...urlFaults(drafts),
  ...headerFaults(drafts),
  ...valueFaults(drafts),
]

const LOST = 'type it again: it was stored for another URL or name'

const isLost = (header: HeaderDraft, url: string): boolean =>
  header.stored !== undefined && header.value === '' && !isKept(header, url)

/** What stands at a value at once, while the URL or the name is being changed. */
export const lostSaid = (header: HeaderDraft, url: string): string | undefined =>
  isLost(header, url) ? LOST : undefined

/** RFC 6901. */
export const headerPointer = (webhook: number, { name }: Pick<HeaderDraft, 'name'>): string =>
  `/webhooks/${webhook}/headers/${name.trim().replaceAll('~', '~0').replaceAll('/', '~1')}`

export const isWebhookPointer = (pointer: string): boolean => pointer.startsWith('/webhooks')

/** What is behind the host may hold a secret, and is long. */
export const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url)
