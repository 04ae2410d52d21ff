import { type Fault, faultsWithin } from '../../api/client/errors.ts'
import type { Destination } from '../../api/destinations.ts'

/**
 * `stored`: the API has a value for this URL and name, and never shows it. While both stay, an empty value keeps it.
 */
export type HeaderDraft = {
  key: number
  name: string
  value: string
  stored?: { url: string; name: string }
}
export type WebhookDraft = { key: number; url: string; headers: readonly HeaderDraft[] }

export const MAX_URLS = 5
export const MAX_HEADERS = 5
/** Stands for a secret in the API; sent back, it keeps the secret. */
export const MASK = '***'

let lastKey = 0
export const newHeader = (): HeaderDraft => ({ key: ++lastKey, name: '', value: '' })
export const newWebhook = (): WebhookDraft => ({ key: ++lastKey, url: '', headers: [] })

type Webhooks = Destination['webhooks']

export const toDrafts = (webhooks: Webhooks): WebhookDraft[] =>
  webhooks.map(({ url, headers }) => ({
    key: ++lastKey,
    url,
    headers: Object.keys(headers).map((name) => ({ key: ++lastKey, name, value: '', stored: { url, name } })),
  }))

/** The API finds stored values by the webhook's URL and the header's name. */
export const isKept = ({ stored, name, value }: HeaderDraft, url: string): boolean =>
  value === '' && stored?.url === url.trim() && stored.name.toLowerCase() === name.trim().toLowerCase()

/** Equal names collapse into one header, so `headerFaults` reports them first. */
export const toWebhooks = (drafts: readonly WebhookDraft[]): Webhooks =>
  drafts.map(({ url, headers }) => ({
    url: url.trim(),
    headers: Object.fromEntries(
      headers.map((header) => [header.name.trim(), isKept(header, url) ? MASK : header.value]),
    ),
  }))

/** Faults that the converted headers hide from the API. */
function headerFaults(drafts: readonly WebhookDraft[]): Fault[] {
  return drafts.flatMap(({ headers }, index) => {
    const names = headers.map(({ name }) => name.trim().toLowerCase())
    return headers.flatMap((header, position): Fault[] => {
      const pointer = headerPointer(index, header)
      const name = names[position] ?? ''
      if (name === '') return [{ pointer, code: 'required', message: 'Enter a name or remove the header.' }]
      if (names.indexOf(name) === position) return []
      return [
        { pointer, code: 'duplicate_header', message: 'This header already exists. Remove one of them.' },
      ]
    })
  })
}

/** A changed URL or name loses the stored value. */
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

const urlFaults = (drafts: readonly WebhookDraft[]): Fault[] =>
  drafts.flatMap(({ url }, index) =>
    /^https?:$/.test(URL.parse(url.trim())?.protocol ?? '')
      ? []
      : [{ pointer: `/webhooks/${index}/url`, code: 'invalid_url', message: INVALID_URL }],
  )

const INVALID_URL = 'Enter a full URL that starts with http:// or https://.'

export const draftFaults = (drafts: readonly WebhookDraft[]): Fault[] => [
  ...urlFaults(drafts),
  ...headerFaults(drafts),
  ...valueFaults(drafts),
]

const LOST = 'Enter the value again. The stored one belongs to another URL or name.'

const isLost = (header: HeaderDraft, url: string): boolean =>
  header.stored !== undefined && header.value === '' && !isKept(header, url)

export const lostValueError = (header: HeaderDraft, url: string): string | undefined =>
  isLost(header, url) ? LOST : undefined

/** RFC 6901 */
export const headerPointer = (webhook: number, { name }: Pick<HeaderDraft, 'name'>): string =>
  `/webhooks/${webhook}/headers/${name.trim().replaceAll('~', '~0').replaceAll('/', '~1')}`

const NAME_CODES = ['invalid_header_name', 'reserved_header', 'duplicate_header', 'required']

/** The API reports faults of a name and of its value at the same pointer. */
export function headerErrors(error: unknown, pointer: string): { name?: string; value?: string } {
  const { code = '', message } = faultsWithin(error, pointer).find((fault) => fault.pointer === pointer) ?? {}
  if (message === undefined) return {}
  return NAME_CODES.includes(code) ? { name: message } : { value: message }
}

export const isWebhookPointer = (pointer: string): boolean => pointer.startsWith('/webhooks')

/** The rest may be long or secret. */
export const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url)
