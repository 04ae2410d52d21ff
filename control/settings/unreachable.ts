import type { Egress } from '../../egress/egress.ts'
import type { Unreachable } from './noun.ts'

/** Vets URLs by the addresses of their hosts now, all at once. What is no URL for webhooks its shape refuses. */
export async function unreachableOf(
  urls: readonly string[],
  egress: Pick<Egress, 'faultOf'>,
): Promise<Unreachable> {
  const found = new Map<string, string>()
  await Promise.all(
    urls.map(async (url) => {
      const parsed = URL.parse(url)
      const fault = parsed && /^https?:$/.test(parsed.protocol) && (await egress.faultOf(parsed))
      if (fault) found.set(url, fault)
    }),
  )
  return found
}
