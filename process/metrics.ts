import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import pack from '../package.json' with { type: 'json' }

/** Our own names begin with `sluice_`. Units: seconds and bytes. */
export const registry = new Registry()
/** At prom-client's 10 ms, this sampling of the event loop takes most of an idle process's CPU. */
const LOOP_MONITOR_MS = 200
collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_MONITOR_MS })

export function exposeBuildInfo(role: string): void {
  new Gauge({
    name: 'sluice_build_info',
    help: 'Always 1; labels are the process and the versions of Sluice and Node.',
    labelNames: ['role', 'version', 'node'],
    registers: [registry],
  }).set({ role, version: pack.version, node: process.version }, 1)
}
