import { expect, test } from 'vitest'
import { urlOf } from '../../console/src/ui/attempts/attempt-url.ts'

const known = { urls: ['https://a.example/', 'https://b.example/'], since: '2026-01-02T00:00:00.000Z' }
const at = (startedAt: string | null, urlIndex: number | null = 1) => urlOf({ urlIndex, startedAt }, known)

test('an attempt went to the URL at its position, as long as the settings are those of then', () => {
  expect(at('2026-01-02T00:00:01.000Z')).toBe('https://b.example/')
  expect(at('2026-01-01T23:59:59.999Z')).toBe('URL 2 (settings have changed since)')
  expect(at('2026-01-02T00:00:01.000Z', 2)).toBe('URL 3')
  expect(at('2026-01-02T00:00:01.000Z', null)).toBe('')
  expect(urlOf({ urlIndex: 0, startedAt: null })).toBe('URL 1')
})
