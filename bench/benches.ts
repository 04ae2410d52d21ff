/** What the command line may make shorter, or longer. */
export type Sizes = { rounds?: number; minutes?: number; count?: number }
export type Size = keyof Sizes

type Bench = {
  what: string
  /** About, on two cores, at its own sizes. */
  minutes: number
  /** Those that it goes by. */
  sizes: readonly Size[]
  load: () => Promise<{ bench(sizes?: Sizes): Promise<string> }>
  onlyByName?: true
}

/** By name, in the order in which they run. */
export const benches: Readonly<Record<string, Bench>> = {
  clients: {
    what: 'the client libraries beside those of the Segment family: calls a second, CPU, memory',
    minutes: 2,
    sizes: ['rounds'],
    load: () => import('./clients/bench.ts'),
  },
  'control-audiences': {
    what: 'a million members uploaded, again, and a little changed',
    minutes: 2,
    sizes: ['rounds', 'count'],
    load: () => import('./control/audiences.ts'),
  },
  'control-deletions': {
    what: 'how soon a request to delete 5,000 users is answered, and performed',
    minutes: 1,
    sizes: ['rounds', 'count'],
    load: () => import('./control/deletions.ts'),
  },
  'control-replay': {
    what: 'what fresh deliveries get while dead letters are replayed',
    minutes: 4,
    sizes: ['count'],
    load: () => import('./control/replay.ts'),
  },
  deliver: {
    what: 'signed POSTs a second and per CPU-second, beside bare loops of the HTTP client',
    minutes: 2,
    sizes: ['rounds'],
    load: () => import('./deliver/bench.ts'),
  },
  'deliver-memory': {
    what: 'memory of the processes while some endpoints never answer',
    minutes: 21,
    sizes: ['minutes'],
    load: () => import('./deliver/memory.ts'),
    onlyByName: true,
  },
  drain: {
    what: 'how fast a backlog is worked off: of endpoints that were away, of a deliverer that was',
    minutes: 24,
    sizes: ['minutes', 'count'],
    load: () => import('./system/drain.ts'),
    onlyByName: true,
  },
  'end-to-end': {
    what: 'from a call to its arrival at 1,000 a second, and the highest rate that two cores keep up',
    minutes: 16,
    sizes: ['rounds', 'minutes'],
    load: () => import('./system/end-to-end.ts'),
    onlyByName: true,
  },
  'fan-out': {
    what: 'what a delivery costs with 10,000 destinations, against 10',
    minutes: 4,
    sizes: ['rounds'],
    load: () => import('./deliver/fan-out.ts'),
  },
  ingest: {
    what: 'calls accepted a second and per CPU-second, beside bare node:http; latency at half load',
    minutes: 5,
    sizes: ['rounds'],
    load: () => import('./ingest/bench.ts'),
  },
  'ingest-attack': {
    what: 'what honest calls get while one client sends bodies without a write key that cost the most',
    minutes: 6,
    sizes: ['rounds'],
    load: () => import('./ingest/attack.ts'),
  },
  'ingest-memory': {
    what: "ingest's memory under load",
    minutes: 12,
    sizes: ['minutes'],
    load: () => import('./ingest/memory.ts'),
    onlyByName: true,
  },
  isolation: {
    what: 'what healthy webhooks get while others are in trouble, by kind of trouble, on hosts of their own and on one host',
    minutes: 45,
    sizes: ['rounds'],
    load: () => import('./isolation/bench.ts'),
    onlyByName: true,
  },
  outpost: {
    what: 'the run in which a peer was measured: 4 of 20 endpoints never answer',
    minutes: 3,
    sizes: ['minutes'],
    load: () => import('./isolation/outpost.ts'),
  },
  route: {
    what: 'events routed a second and per CPU-second, beside parsing and printing them',
    minutes: 2,
    sizes: ['rounds'],
    load: () => import('./route/bench.ts'),
  },
  rungs: {
    what: 'how late due retries are, without and with a million others on a long rung',
    minutes: 3,
    sizes: ['minutes'],
    load: () => import('./deliver/rungs.ts'),
  },
  'same-host': {
    what: 'the part of isolation in which webhooks share a host',
    minutes: 25,
    sizes: ['rounds'],
    load: () => import('./isolation/same-host.ts'),
    onlyByName: true,
  },
  scale: {
    what: 'isolation beyond this machine, by a simulation',
    minutes: 1,
    sizes: ['minutes'],
    load: () => import('./scale/bench.ts'),
  },
  sources: {
    what: "what one source's calls get while another's go to 1,000 and 10,000 destinations",
    minutes: 8,
    sizes: [],
    load: () => import('./isolation/sources.ts'),
    onlyByName: true,
  },
  start: {
    what: 'how long npm start takes, beside Kafka alone',
    minutes: 2,
    sizes: ['rounds'],
    load: () => import('./system/start.ts'),
  },
  traces: {
    what: 'what traces cost: off, of one call in a hundred, and of all',
    minutes: 6,
    sizes: ['rounds'],
    load: () => import('./system/traces.ts'),
    onlyByName: true,
  },
}
