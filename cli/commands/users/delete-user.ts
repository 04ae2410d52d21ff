import { z } from 'zod'
import { requestOnce } from '../../api/client.ts'
import type { ExitCode } from '../../context.ts'
import { action, type Cli, collect, type Invocation, print } from '../command.ts'

type Options = { source?: string[]; suppress?: true; id?: string; json?: true }

const shape = z.looseObject({ id: z.string(), users: z.number(), deletes: z.number() })

export function addDeleteUser({ program, ...cli }: Cli): void {
  program
    .command('delete-user')
    .argument(
      '<ids...>',
      'user ids, up to 5,000; - reads them from standard input, one per line (spaces around them are removed)',
    )
    .summary('ask destinations to delete users')
    .description(
      `Sends a delete event for each user to the destinations of each source. The command returns once the request is accepted; it \
continues in the background. sluice deletions <id> shows its progress.`,
    )
    .option('--source <id>', 'only this source; can be repeated (default: all sources)', collect)
    .option('--suppress', 'also drop all future calls of these users')
    .option('--id <id>', 'id of the request (default: a new one); a second request with this id is refused')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice delete-user u1 u2 --suppress
  $ sluice delete-user --source shop --source web - < users.txt`,
    )
    .action(action<Options>(cli, act))
}

async function act(invocation: Invocation<Options>): Promise<ExitCode> {
  const { args, options, control, readInput, newId } = invocation
  const read = args.includes('-') ? (await readInput()).split('\n').flatMap((line) => line.trim() || []) : []
  const json = {
    id: options.id ?? newId(),
    userIds: args.flatMap((id) => (id === '-' ? read : [id])),
    ...(options.source && { sourceIds: options.source }),
    ...(options.suppress && { suppress: true }),
  }
  const what = { method: 'POST', path: 'deletions', json } as const
  const answer = await requestOnce(await control(), what, shape)
  const { id, users, deletes } = answer
  return print(invocation, answer, [
    `accepted as ${id}: ${counted(users, 'user')}, ${counted(deletes, 'delete event')}`,
  ])
}

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`
