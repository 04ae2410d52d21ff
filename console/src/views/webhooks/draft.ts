import type { Destination } from '../../api/destinations.ts'
import type { Fault } from '../../api/problem.ts'

/** A header as it is typed. `stored`: there is a value, which nobody is shown; an empty one keeps it. */
export type HeaderDraft = { key: number; name: string; value: string; stored: boolean }
export type WebhookDraft = { key: number; url: string; headers: readonly HeaderDraft[] }

export const MOST_URLS = 5
export const MOST_HEADERS = 5
/** What the API shows in place of a secret, and takes for "as it was". */
export const MASK = '***'

let made = 0
export const newHeader = (): HeaderDraft => ({ key: ++made, name: '', value: '', stored: false })
export const newWebhook = (): WebhookDraft => ({ key: ++made, url: '', headers: [] })

type Webhooks = Destination['webhooks']

export const draftOf = (webhooks: Webhooks): WebhookDraft[] =>
  webhooks.map(({ url, headers }) => ({
    key: ++made,
    url,
    headers: Object.keys(headers).map((name) => ({ key: ++made, name, value: '', stored: true })),
  }))

/** What the API takes. Of two headers of one name there would be one left: see `headerFaults`. */
export const webhooksOf = (drafts: readonly WebhookDraft[]): Webhooks =>
  drafts.map(({ url, headers }) => ({
    url: url.trim(),
    headers: Object.fromEntries(
      headers.map(({ name, value, stored }) => [name.trim(), stored && value === '' ? MASK : value]),
    ),
  }))

/** What the API could not see any more, at the places where it would say it. */
export function headerFaults(drafts: readonly WebhookDraft[]): Fault[] {
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

/** RFC 6901. */
export const headerPointer = (webhook: number, { name }: Pick<HeaderDraft, 'name'>): string =>
  `/webhooks/${webhook}/headers/${name.trim().replaceAll('~', '~0').replaceAll('/', '~1')}`

export const isWebhookPointer = (pointer: string): boolean => pointer.startsWith('/webhooks')
