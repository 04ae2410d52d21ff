import { z } from 'zod'
import { request } from '../../api/client.ts'
import type { ExitCode } from '../../context.ts'
import { table } from '../../table.ts'
import { action, type Cli, type Invocation, print } from '../command.ts'

type Options = { json?: true }

/** Counts cover the last minute. */
export const overview = z.looseObject({
  items: z.array(
    z.looseObject({
      destinationId: z.string(),
      state: z.string(),
      rejectedStatus: z.number().nullable(),
      delivered: z.number(),
      rejected: z.number(),
      retry: z.number(),
      refused: z.number(),
      dead: z.number(),
    }),
  ),
})
const ofOne = z.looseObject({
  endpoints: z.array(
    z.looseObject({
      urlIndex: z.number(),
      state: z.string(),
      breaker: z.string(),
      lastDeliveredAt: z.string().nullable(),
      lastError: z
        .looseObject({
          code: z.string().nullable(),
          status: z.number().nullable(),
          at: z.string().nullable(),
        })
        .nullable(),
    }),
  ),
})

export function addHealth({ program, ...cli }: Cli): void {
  program
    .command('health')
    .summary('show the state of destinations and webhooks')
    .argument('[destination]', 'show the webhooks of this destination')
    .description(
      `Shows for each destination the state of its worst webhook, how many attempts of the last minute were delivered, rejected \
(3xx or 4xx) or failed (no answer, 5xx, or refused by Sluice itself), and how many deliveries died. For one destination it shows \
each webhook with its state, circuit breaker and last error.`,
    )
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
States: failing, rejecting, healthy, idle (nothing sent for 15 minutes), paused (the destination is paused or off).

Examples:
  $ sluice health
  $ sluice health crm
  $ sluice health --json | jq -r '.items[] | select(.state == "rejecting").destinationId'`,
    )
    .action(action<Options>(cli, act))
}

async function act(invocation: Invocation<Options>): Promise<ExitCode> {
  const [id] = invocation.args
  const api = await invocation.control()
  if (id === undefined) {
    const all = await request(api, { path: 'health' }, overview)
    return print(invocation, all, destinations(all))
  }
  const one = await request(api, { path: `destinations/${encodeURIComponent(id)}/health` }, ofOne)
  return print(invocation, one, webhooks(one))
}

export const stateShown = (state: string, status: number | null | undefined) =>
  state === 'rejecting' && status ? `rejecting: ${status}` : state

function destinations({ items }: z.infer<typeof overview>): string[] {
  if (items.length === 0) return ['There are no destinations.']
  const rows = items.map(
    ({ destinationId, state, rejectedStatus, delivered, rejected, retry, refused, dead }) => [
      destinationId,
      stateShown(state, rejectedStatus),
      delivered,
      rejected,
      retry + refused,
      dead,
    ],
  )
  return [
    ...table(['destination', 'state', 'delivered', 'rejected', 'failed', 'dead'], rows),
    'Counts cover the last minute. The latest attempts decide the state. Rejected deliveries also count as dead.',
  ]
}

function webhooks({ endpoints }: z.infer<typeof ofOne>): string[] {
  const rows = endpoints.map(({ urlIndex, state, breaker, lastDeliveredAt, lastError }) => [
    urlIndex,
    stateShown(state, lastError?.status),
    breaker,
    lastDeliveredAt,
    lastError?.status ?? lastError?.code,
    lastError?.at,
  ])
  return table(['webhook', 'state', 'breaker', 'last delivered', 'last error', 'at'], rows)
}
