import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import pack from '../package.json' with { type: 'json' }

/** Names begin with `sluice_`. Units are Prometheus base units: seconds, bytes. */
export const registry = new Registry()
/** How often the lag of the event loop is sampled. At prom-client's 10 ms, most of an idle process's wake-ups are for it. */
const LOOP_MONITOR_MS = 50
collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_MONITOR_MS })

export function exposeBuildInfo(role: string): void {
  new Gauge({
    name: 'sluice_build_info',
    help: 'Always 1; labels are the process and the versions of Sluice and Node.',
    labelNames: ['role', 'version', 'node'],
    registers: [registry],
  }).set({ role, version: pack.version, node: process.version }, 1)
}
