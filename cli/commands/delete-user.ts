import { z } from 'zod'
import { askedUnder } from '../api/ask.ts'
import type { ExitCode } from '../world.ts'
import { type Adding, collect, type Doing, doing } from './command.ts'

type Options = { source?: string[]; suppress?: true; id?: string; json?: true }

const shape = z.looseObject({ id: z.string(), users: z.number(), deletes: z.number() })

export function addDeleteUser({ program, ...adding }: Adding): void {
  program
    .command('delete-user')
    .argument('<ids...>', 'ids of users, up to 5,000; - reads them from standard input, one a line')
    .summary('have users deleted by all destinations')
    .description(
      `Sends a delete event for each user to the destinations of each source. It is accepted when this ends, and goes on in the
background: GET /api/deletions/<id> tells how far it is.`,
    )
    .option('--source <id>', 'of this source; may be given several times (default: all)', collect)
    .option('--suppress', 'and drop what comes of these users from now on')
    .option('--id <id>', 'of the request (default: a new one); sent under one id twice it is done once')
    .option('--json', 'as one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice delete-user u1 u2 --suppress
  $ sluice delete-user --source shop --source web - < users.txt`,
    )
    .action(doing<Options>(adding, act))
}

async function act({ args, options, control, readInput, newId, out }: Doing<Options>): Promise<ExitCode> {
  const read = args.includes('-') ? (await readInput()).split(/\r?\n/).filter(Boolean) : []
  const json = {
    id: options.id ?? newId(),
    userIds: args.flatMap((id) => (id === '-' ? read : [id])),
    ...(options.source && { sourceIds: options.source }),
    ...(options.suppress && { suppress: true }),
  }
  const what = { method: 'POST', path: 'deletions', json } as const
  const answer = await askedUnder(json.id, await control(), what, shape)
  const { id, users, deletes } = answer
  out.line(
    options.json ? JSON.stringify(answer) : `accepted as ${id}: ${users} users, ${deletes} delete events`,
  )
  return 0
}
