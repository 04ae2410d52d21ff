import { z } from 'zod'
import { pages, request } from '../../api/client.ts'
import type { ExitCode } from '../../context.ts'
import { table } from '../../table.ts'
import { action, type Cli, type Invocation, positiveInteger, print } from '../command.ts'

type Options = { limit: number; json?: true }

const shape = z.looseObject({
  id: z.string(),
  state: z.string(),
  createdAt: z.string(),
  finishedAt: z.string().optional(),
  users: z.number(),
  deletes: z.number(),
  suppressed: z.boolean(),
  cause: z.looseObject({ message: z.string() }).optional(),
})

export function addDeletions({ program, ...cli }: Cli): void {
  program
    .command('deletions')
    .argument('[id]', 'show only this deletion')
    .summary('list deletions of users and their progress')
    .description(
      `Lists deletions, newest first: how many users and delete events each has, and whether all events are written (done). \
Finished deletions are kept for 30 days and do not contain user ids.`,
    )
    .option('--limit <count>', 'how many at most', positiveInteger, 20)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
States: accepted (running or waiting), done, failed.

Examples:
  $ sluice deletions
  $ sluice deletions 5f0c9c1e-3b7a-4b59-9d0e-0a6a2f1c8a11
  $ sluice deletions --json | jq '.items[] | select(.state != "done")'`,
    )
    .action(action<Options>(cli, act))
}

async function act(invocation: Invocation<Options>): Promise<ExitCode> {
  const [id] = invocation.args
  const { limit } = invocation.options
  const api = await invocation.control()
  const query = { newest: 'true' }
  const items =
    id === undefined
      ? (await pages(api, 'deletions', { item: shape, first: z.object({}), query, limit, perPage: 1_000 }))
          .items
      : [await request(api, { path: `deletions/${encodeURIComponent(id)}` }, shape)]
  const lines = items.length > 0 ? rowsOf(items) : ['There are no deletions.']
  return print(invocation, id === undefined ? { items } : items[0], lines)
}

const rowsOf = (items: readonly z.infer<typeof shape>[]) =>
  table(
    ['created', 'state', 'users', 'delete events', 'suppressed', 'finished', 'deletion', 'cause'],
    items.map(({ createdAt, state, users, deletes, suppressed, finishedAt, id, cause }) => [
      ...[createdAt, state, users, deletes, suppressed ? 'yes' : 'no', finishedAt, id, cause?.message],
    ]),
  )
