/** Sizes that the command line can override. */
export type Sizes = { rounds?: number; minutes?: number; count?: number }
export type Size = keyof Sizes

type Bench = {
  what: string
  /** On two cores, with the default sizes. */
  minutes: number
  /** Those that this bench accepts. */
  sizes: readonly Size[]
  load: () => Promise<{ bench(sizes?: Sizes): Promise<string> }>
  onlyByName?: true
}

/** In the order in which they run. Each `bench` returns its section of RESULTS.md. */
export const benches: Readonly<Record<string, Bench>> = {
  clients: {
    what: "our client libraries against Segment's: calls a second, CPU, memory",
    minutes: 2,
    sizes: ['rounds'],
    load: () => import('./clients/bench.ts'),
  },
  compression: {
    what: 'cost and savings of compressing the events that ingest sends to Kafka',
    minutes: 1,
    sizes: ['rounds'],
    load: () => import('./ingest/compression.ts'),
  },
  'control-audiences': {
    what: 'an upload of a million members: first, unchanged, and slightly changed',
    minutes: 2,
    sizes: ['rounds', 'count'],
    load: () => import('./control/audiences.ts'),
  },
  'control-deletions': {
    what: 'time to answer and to perform a request to delete 5,000 users',
    minutes: 1,
    sizes: ['rounds', 'count'],
    load: () => import('./control/deletions.ts'),
  },
  'control-replay': {
    what: 'latency of fresh deliveries during a replay of dead letters',
    minutes: 4,
    sizes: ['count'],
    load: () => import('./control/replay.ts'),
  },
  deliver: {
    what: 'signed POSTs a second and per CPU-second, against bare loops of the HTTP client',
    minutes: 2,
    sizes: ['rounds'],
    load: () => import('./deliver/bench.ts'),
  },
  'deliver-memory': {
    what: 'memory of the processes while some webhooks hang',
    minutes: 21,
    sizes: ['minutes'],
    load: () => import('./deliver/memory.ts'),
    onlyByName: true,
  },
  drain: {
    what: 'time to drain a backlog after an outage of webhooks, and of the deliverer',
    minutes: 24,
    sizes: ['minutes', 'count'],
    load: () => import('./system/drain.ts'),
    onlyByName: true,
  },
  'end-to-end': {
    what: 'latency and CPU per call at 300 and 1,000 a second, CPU without calls, and the highest rates on two cores',
    minutes: 40,
    sizes: ['rounds', 'minutes'],
    load: () => import('./system/end-to-end.ts'),
    onlyByName: true,
  },
  'fan-out': {
    what: 'cost of a delivery with up to 10,000 destinations, against bare loops over the same hosts',
    minutes: 4,
    sizes: ['rounds'],
    load: () => import('./deliver/fan-out.ts'),
  },
  ingest: {
    what: 'calls accepted a second and per CPU-second, against bare node:http; latency at half load',
    minutes: 5,
    sizes: ['rounds'],
    load: () => import('./ingest/bench.ts'),
  },
  'ingest-attack': {
    what: 'latency of honest calls while one client sends the most expensive bodies without a write key',
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
    what: 'latency of healthy webhooks while others are in trouble, on separate hosts and on one host',
    minutes: 45,
    sizes: ['rounds'],
    load: () => import('./isolation/bench.ts'),
    onlyByName: true,
  },
  peers: {
    what: 'Sluice, Hookdeck Outpost, Svix and Convoy under the same load; needs redis-server, postgresql, rabbitmq-server, Go and Rust',
    minutes: 90,
    sizes: ['rounds', 'minutes'],
    load: () => import('./peers/bench.ts'),
    onlyByName: true,
  },
  route: {
    what: 'events routed a second and per CPU-second, against parsing and printing them',
    minutes: 2,
    sizes: ['rounds'],
    load: () => import('./route/bench.ts'),
  },
  rungs: {
    what: 'delay of due retries, with and without a million others on a long rung',
    minutes: 3,
    sizes: ['minutes'],
    load: () => import('./deliver/rungs.ts'),
  },
  'same-host': {
    what: 'only the part of isolation with webhooks on one host',
    minutes: 25,
    sizes: ['rounds'],
    load: () => import('./isolation/same-host.ts'),
    onlyByName: true,
  },
  scale: {
    what: 'isolation at a scale beyond this machine, as a simulation',
    minutes: 1,
    sizes: ['minutes'],
    load: () => import('./scale/bench.ts'),
  },
  sources: {
    what: "delays of one source's events while another source's go to 1,000 and 10,000 destinations",
    minutes: 8,
    sizes: [],
    load: () => import('./isolation/sources.ts'),
    onlyByName: true,
  },
  start: {
    what: 'start time of npm start, against Kafka alone',
    minutes: 2,
    sizes: ['rounds'],
    load: () => import('./system/start.ts'),
  },
  traces: {
    what: 'cost of traces: off, for one call in a hundred, and for all',
    minutes: 6,
    sizes: ['rounds'],
    load: () => import('./system/traces.ts'),
    onlyByName: true,
  },
}
