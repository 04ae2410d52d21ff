import { z } from 'zod'
import { request } from '../../api/client.ts'
import { CliError, type ExitCode } from '../../context.ts'
import { action, type Cli, type Invocation, print } from '../command.ts'

type Options = { json?: true }

const shape = z.looseObject({ version: z.number(), enabled: z.boolean(), paused: z.boolean().optional() })

export function addPause({ program, ...cli }: Cli): void {
  program
    .command('pause')
    .argument('<destination>', 'id of the destination')
    .summary('hold the deliveries of a destination')
    .description(
      `Stops sending to a destination within a second, without losing events: its deliveries are held until you resume it. \
Time on hold does not count towards the retry window.`,
    )
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice pause crm
  $ sluice deliveries --destination crm --state held`,
    )
    .action(action<Options>(cli, pause))
}

export function addResume({ program, ...cli }: Cli): void {
  program
    .command('resume')
    .argument('<destination>', 'id of the destination')
    .summary('send the held deliveries of a destination')
    .description(
      'Ends a pause. New deliveries arrive at once, and held ones within a quarter of the length of the pause.',
    )
    .option('--json', 'print one JSON document')
    .addHelpText('after', '\nExample:\n  $ sluice resume crm')
    .action(action<Options>(cli, resume))
}

async function pause(invocation: Invocation<Options>): Promise<ExitCode> {
  const { id, destination, replace } = await destinationOf(invocation)
  if (!destination.enabled) {
    const message = `Destination ${id} is off. Its deliveries are cancelled, even if you pause it.`
    throw new CliError('refused', message)
  }
  const saved = destination.paused ? destination : await replace({ paused: true })
  return print(invocation, saved, [`${id} is paused. To send the held deliveries: sluice resume ${id}`])
}

async function resume(invocation: Invocation<Options>): Promise<ExitCode> {
  const { id, destination, replace } = await destinationOf(invocation)
  if (!destination.paused) return print(invocation, destination, [`${id} was not paused.`])
  return print(invocation, await replace({}), [
    `${id} is resumed. Held deliveries arrive within a quarter of the length of the pause.`,
  ])
}

/** `replace`: changes the destination, unless someone else has changed it meanwhile. */
async function destinationOf({ args, control }: Invocation<Options>) {
  const [id = ''] = args
  const api = await control()
  const path = `destinations/${encodeURIComponent(id)}`
  const destination = await request(api, { path }, shape)
  const { version: ifMatch, paused: _, ...rest } = destination
  const replace = (change: { paused?: true }) =>
    request(api, { method: 'PUT', path, json: { ...rest, ...change }, ifMatch }, shape)
  return { id, destination, replace }
}
