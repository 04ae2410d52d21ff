import { Gauge, type Registry } from 'prom-client'

/** A gauge that is read when Prometheus asks. */
export function gauge(
  register: Registry,
  [name, help]: [string, string],
  value: () => number | Promise<number>,
): void {
  new Gauge({
    name,
    help,
    registers: [register],
    async collect() {
      this.set(await value())
    },
  })
}
