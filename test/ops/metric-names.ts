import { readFile } from 'node:fs/promises'

/** Those in docs/reference/metrics.md. */
export async function describedMetrics(): Promise<Set<string>> {
  const page = await readFile('docs/reference/metrics.md', 'utf8')
  const cells = page.split('\n').flatMap((line) => line.match(/^\|([^|]+)\|/)?.[1] ?? [])
  return new Set(cells.flatMap((cell) => [...cell.matchAll(/`([a-z0-9_]+)`/g)].map(([, name = '']) => name)))
}

/** Histograms by their own names, not those of their series. */
export const namedMetrics = (text: string): Set<string> =>
  new Set(
    [...text.matchAll(/\b(?:sluice|kafka_(?:consumergroup|topic)|process|nodejs)_[a-z0-9_]+/g)].map(
      ([name]) => name.replace(/_(bucket|sum|count)$/, ''),
    ),
  )
