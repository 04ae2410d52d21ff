import { expect, test } from 'vitest'
import { mayReload } from '../../console/src/reload.ts'
import { urlOf } from '../../console/src/ui/attempts/attempt-url.ts'
import { withoutRepeats } from '../../console/src/ui/chart/plot.ts'
import { changedFields } from '../../console/src/ui/form/changed-fields.ts'
import { filterByWords } from '../../console/src/ui/layout/list-filter.ts'
import { placeBeside } from '../../console/src/ui/values/tooltip-place.ts'
import { LINES } from '../../console/src/wording/states.ts'
import { urlHash } from '../../delivery/url-hash.ts'

test('a list is filtered by words in any case and order', () => {
  const names = ['Shop of Anna', 'iOS app', 'Blog']
  expect(filterByWords(names, ' anna SHOP ', String)).toEqual(['Shop of Anna'])
  expect(filterByWords(names, 'anna blog', String)).toEqual([])
  expect(filterByWords(names, ' ', String)).toBe(names)
})

test('changed fields are named once, as in the form', () => {
  const before = { version: 1, updatedAt: 'a', name: 'CRM', webhooks: [{ url: 'a' }], sharedSecret: '***' }
  const after = {
    ...before,
    ...{ version: 2, updatedAt: 'b', webhooks: [{ url: 'b' }] },
    ...{ previousSecret: '***', previousSecretExpiresAt: 'c' },
  }
  expect(changedFields(before, after)).toEqual(['URLs and headers', 'secret'])
  expect(changedFields(before, { ...before, version: 3 })).toEqual([])
  expect(changedFields(before, { ...before, standardWebhooks: false })).toEqual([])
  expect(changedFields(before, { ...before, standardWebhooks: true })).toEqual(['Standard Webhooks'])
  expect(changedFields(before, { ...before, paused: false })).toEqual([])
  expect(changedFields(before, { ...before, paused: true })).toEqual(['paused/resumed'])
})

test('a page reloads itself at most once a minute', () => {
  expect([mayReload(0, 100_000), mayReload(50_000, 100_000)]).toEqual([true, false])
})

test('no two lines of a chart differ only in color', () => {
  const { accepted, delivered, rejected, dead, failedAttempts } = LINES
  const dashes = (lines: readonly { color: string; dash?: readonly number[] }[]) =>
    new Set(lines.map(({ dash = [] }) => dash.join()))
  expect(dashes([accepted, rejected]).size).toBe(2)
  expect(dashes([delivered, rejected, dead, failedAttempts]).size).toBe(4)
  expect(new Set([delivered, rejected, dead, failedAttempts].map(({ color }) => color)).size).toBe(4)
})

test('labels of a scale that round to the same text appear once', () => {
  expect(withoutRepeats(['0 ms', '0 ms', '1 ms', '1 ms', '2 ms'])).toEqual(['0 ms', '', '1 ms', '', '2 ms'])
})

const known = { urls: ['https://a.example/', 'https://b.example/'], since: '2026-01-02T00:00:00.000Z' }
const at = (startedAt: string | null, urlIndex: number | null = 1) => urlOf({ urlIndex, startedAt }, known)

test('an attempt shows its URL, whatever else was changed since, until the URL itself is changed', () => {
  const sent = (url: string, urlIndex: number) =>
    urlOf({ urlIndex, startedAt: '2026-01-01T00:00:00.000Z', urlHash: urlHash(url) }, known)
  expect(sent('https://b.example/', 1)).toBe('https://b.example/')
  expect(sent('https://b.example/', 0)).toBe('https://b.example/')
  expect(sent('https://old.example/', 1)).toBe('URL 2, since changed')
})

test('the hash of a URL is FNV-1a, of 32 bits', () => {
  // test vectors of its authors
  expect([urlHash(''), urlHash('a'), urlHash('foobar')]).toEqual([
    0x811c9dc5 | 0,
    0xe40c292c | 0,
    0xbf9cf968 | 0,
  ])
})

test('an attempt without a hash shows the URL at its position, unless the settings changed since', () => {
  expect(at('2026-01-02T00:00:01.000Z')).toBe('https://b.example/')
  expect(at('2026-01-01T23:59:59.999Z')).toBe('URL 2, possibly changed since')
  expect(at('2026-01-02T00:00:01.000Z', 2)).toBe('URL 3')
  expect(at('2026-01-02T00:00:01.000Z', null)).toBe('')
  expect(urlOf({ urlIndex: 0, startedAt: null })).toBe('URL 1')
})

test('a tooltip is above what it explains, or below it near the top, and never off the screen', () => {
  const screen = { innerWidth: 1_000, innerHeight: 600 }
  const place = (box: { top: number; left: number }) =>
    placeBeside({ ...box, bottom: box.top + 20, width: 60 }, screen)
  expect(place({ top: 400, left: 470 })).toEqual({ left: 500, maxWidth: 320, bottom: 206 })
  expect(place({ top: 100, left: 470 })).toEqual({ left: 500, maxWidth: 320, top: 126 })
  expect([place({ top: 400, left: 0 }).left, place({ top: 400, left: 940 }).left]).toEqual([166, 834])
  const phone = { ...screen, innerWidth: 300 }
  expect(placeBeside({ top: 0, bottom: 20, left: 250, width: 50 }, phone)).toMatchObject({
    left: 150,
    maxWidth: 288,
  })
})
