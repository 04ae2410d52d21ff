import { Gauge } from 'prom-client'
import { registry } from '../metrics.ts'
import type { Settings } from './follow.ts'
import type { Kind } from './settings.ts'

/** @param kinds those that this process goes by. */
export function watchUnreadable({ unreadable }: Pick<Settings, 'unreadable'>, kinds: readonly Kind[]): void {
  new Gauge({
    name: 'sluice_unreadable_settings',
    help: 'Settings whose record in topic config this process cannot read, by kind.',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      for (const kind of kinds) {
        const count = [...unreadable.values()].filter((each) => each.kind === kind).length
        this.set({ kind }, count)
      }
    },
  })
}
