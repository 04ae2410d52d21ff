import type { FakeIngest } from './fake.ts'

/** The samples of the metrics whose names begin so, as Prometheus reads them. */
export async function metricLines({ metrics }: Pick<FakeIngest, 'metrics'>, name: string): Promise<string[]> {
  const text = await metrics.metrics()
  return text.split('\n').filter((line) => line.startsWith(name))
}
