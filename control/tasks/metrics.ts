import { Counter, Gauge } from 'prom-client'
import { registry } from '../../metrics.ts'
import type { Task } from '../../schemas/task.ts'
import type { Known } from './known.ts'
import { KINDS, undoneByKind } from './undone.ts'

const registers = [registry]

/** Every process tells of all tasks, whoever performs them. */
export function watchTasks(known: Pick<Known, 'undone'>): void {
  new Gauge({
    name: 'sluice_control_tasks',
    help: 'Deletions, syncs and replays that are not over, by kind.',
    labelNames: ['kind'],
    registers,
    collect() {
      for (const { kind, count } of undoneByKind(known, Date.now())) this.set({ kind }, count)
    },
  })
  new Gauge({
    name: 'sluice_control_tasks_oldest_seconds',
    help: 'How long ago the oldest task that is not over was accepted, by kind; 0: there is none.',
    labelNames: ['kind'],
    registers,
    collect() {
      for (const { kind, oldestSeconds } of undoneByKind(known, Date.now())) this.set({ kind }, oldestSeconds)
    },
  })
}

const ended = new Counter({
  name: 'sluice_control_tasks_ended_total',
  help: 'Tasks that this process has performed to their end, by kind and state (done, cancelled or failed).',
  labelNames: ['kind', 'state'],
  registers,
})

// a rate needs a beginning
for (const kind of KINDS) for (const state of ['done', 'cancelled', 'failed']) ended.inc({ kind, state }, 0)

export const countEnded = ({ kind, state }: Task) => ended.inc({ kind, state })
