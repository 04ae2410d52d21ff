import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { isDebug, masked } from '../../../clients/node/debug.ts'
import { clientOf, startService, warnings } from './service.ts'

test.each([
  ['analytics', true],
  ['foo,analytics', true],
  ['foo analytics', true],
  ['*', true],
  ['foo,*', true],
  ['', false],
  [undefined, false],
  ['foo', false],
  ['analyticsx', false],
])('DEBUG=%s switches it: %s', (names, on) => {
  expect(isDebug(names)).toBe(on)
})

test.each([
  ['shop-write-key', 'shop***'],
  ['12345678', '1234***'],
  ['1234567', '***'],
  ['k', '***'],
])('the write key %s is shown as %s', (writeKey, shown) => {
  expect(masked(writeKey)).toBe(shown)
})

describe('the debug output', () => {
  /** Two calls, a retry and a success. */
  async function linesOf(debug: string): Promise<string[]> {
    vi.stubEnv('DEBUG', debug)
    warnings()
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    onTestFinished(() => {
      vi.unstubAllEnvs()
      write.mockRestore()
    })
    const service = await startService((_arrival, index) => ({ status: index === 0 ? 503 : 200 }))
    const { analytics } = clientOf({ endpoint: `${service.endpoint}?token=hidden` })
    analytics.track({
      userId: 'hidden-user',
      event: 'hidden-event',
      properties: { hidden: 'hidden' },
      context: { text: 'x'.repeat(2_000) },
      messageId: 'm-1',
    })
    analytics.identify({
      anonymousId: 'hidden-anonymous',
      traits: { hidden: 'hidden' },
      messageId: 'line\nbreak',
    })
    await analytics.flush()
    return write.mock.calls.map(([line]) => String(line))
  }

  test('has a line for the new client and each call, flush, response and retry', async () => {
    const lines = await linesOf('foo,analytics')
    const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`
    const expected = [
      String.raw`new version="0\.1\.0" endpoint="http://127\.0\.0\.1:\d+/v1/batch" writeKey="shop\*\*\*"`,
      String.raw`queue type="track" messageId="m-1" bytes=\d+ waiting=1`,
      String.raw`queue type="identify" messageId="line\\nbreak" bytes=\d+ waiting=2`,
      'flush calls=2 waiting=0',
      String.raw`response status=503 ms=\d+ bytes=\d+ gzip=true`,
      String.raw`retry tries=1 inMs=\d+ after="http://127\.0\.0\.1:\d+/v1/batch answered 503\."`,
      String.raw`response status=200 ms=\d+ bytes=\d+ gzip=true`,
    ]
    expect(lines).toHaveLength(expected.length)
    for (const [index, line] of expected.entries())
      expect(lines[index]).toMatch(new RegExp(`^${time} analytics ${line}\n$`))
  })

  test('contains only the start of the write key, and no value of a call', async () => {
    const all = (await linesOf('analytics')).join('')
    expect(all).not.toMatch(/hidden|write-key/)
    expect(all).not.toContain(btoa('shop-write-key:'))
  })

  test('is empty without DEBUG', async () => {
    expect(await linesOf('other')).toEqual([])
  })
})
