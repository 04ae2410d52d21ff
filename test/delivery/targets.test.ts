import { describe, expect, test } from 'vitest'
import { prepare, settledWith } from '../../delivery/targets.ts'
import { aDestination } from '../helpers/events.ts'

const [crm, erp] = ['https://crm.example/', 'https://erp.example/']
const to = (...urls: string[]) => aDestination({ webhooks: urls.map((url) => ({ url, headers: {} })) })
const nothing = { refusedUrls: [], refusedIndexes: [] }

const planned = (settled: Parameters<typeof prepare>[0], destination: ReturnType<typeof to>) => {
  const what = prepare(settled, destination)
  return what.kind === 'post' ? what.targets.map(({ urlIndex }) => urlIndex) : what.kind
}

describe('a prepared delivery', () => {
  test('posts to each webhook that is not settled', () => {
    const settled = settledWith(nothing, [{ url: crm, urlIndex: 0 }])
    expect(planned(nothing, to(crm, erp))).toEqual([0, 1])
    expect(planned(settled, to(crm, erp))).toEqual([1])
    expect(planned(settledWith(settled, [{ url: erp, urlIndex: 1 }]), to(crm, erp))).toBe('refused')
  })

  test('posts to the other webhook when two have the same URL and one of them is settled', () => {
    for (const urlIndex of [0, 1]) {
      const settled = settledWith(nothing, [{ url: crm, urlIndex }])
      expect(planned(settled, to(crm, crm))).toEqual([1 - urlIndex])
    }
  })

  test('does not post to a settled URL, whatever its position is now', () => {
    const settled = settledWith(nothing, [{ url: crm, urlIndex: 0 }])
    expect(planned(settled, to(erp, crm))).toEqual([0])
    expect(planned(settled, to(erp, crm, crm))).toEqual([0])
  })

  test('posts to the new URL when a settled one was corrected', () => {
    const settled = settledWith(nothing, [{ url: crm, urlIndex: 0 }])
    expect(planned(settled, to(erp))).toEqual([0])
  })

  test('does not post to a URL that an earlier version settled without a position', () => {
    const earlier = { refusedUrls: [crm], refusedIndexes: [] }
    expect(planned(earlier, to(crm, erp, crm))).toEqual([1])
    const both = settledWith(earlier, [{ url: erp, urlIndex: 1 }])
    expect(both).toEqual({ refusedUrls: [crm, erp], refusedIndexes: [-1, 1] })
    expect(planned(both, to(crm, erp, erp))).toEqual([2])
  })
})
