import type { FakeIngest } from './fake.ts'

/** @param name how the metrics' names begin */
export async function metricLines({ metrics }: Pick<FakeIngest, 'metrics'>, name: string): Promise<string[]> {
  const text = await metrics.metrics()
  return text.split('\n').filter((line) => line.startsWith(name))
}
