import type { LagItem } from './group.ts'

type Word = { label: string; color: string; says: string }

const STATUSES: Record<LagItem['status'], Word> = {
  ok: { label: 'OK', color: 'green', says: 'It has nothing to do, or keeps up.' },
  warn: {
    label: 'Falling behind',
    color: 'yellow',
    says: 'It works, but is behind by as much or more with each look: too slow, or an endpoint that is. More instances help with the first.',
  },
  stall: {
    label: 'Stalled',
    color: 'red',
    says: 'A consumer is there, but gets nowhere: look at that process’s log, and at Kafka and the registry.',
  },
  stop: {
    label: 'Stopped',
    color: 'red',
    says: 'Nobody works on it, and there is work: is the process up? See its log.',
  },
  rewind: {
    label: 'Turned back',
    color: 'orange',
    says: 'Its offset went back: somebody reset it. What is read again is delivered again.',
  },
}

export const statusOf = (status: LagItem['status']): Word => STATUSES[status]

const GROUPS: Record<string, string> = {
  router: 'Accepted calls that are not yet deliveries',
  deliverer: 'First attempts that are not over',
  'deliverer.due': 'Retries and replayed deliveries that are not over',
  'deliverer.rungs': 'The retry ladder: what waits for its time. Late is only what is past due',
  'control.tasks': 'Deletions, uploads and replays under way',
}

export const groupOf = (group: string): string =>
  GROUPS[group] ?? (group.startsWith('replay.') ? 'What a running replay has still to read' : '')
