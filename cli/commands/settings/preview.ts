import { z } from 'zod'
import { rulesFaults } from '../../../rules/faults.ts'
import type { Members } from '../../../settings/faults.ts'
import { type Api, parseBody, refused, request } from '../../api/client.ts'
import { CliError, type ExitCode } from '../../context.ts'
import { faulty } from '../../settings/apply.ts'
import { allFaults, declare } from '../../settings/declare.ts'
import { readFiles } from '../../settings/files.ts'
import { hide } from '../../settings/variables.ts'
import { plain } from '../../table.ts'
import { action, type Cli, type Invocation, positiveInteger } from '../command.ts'

type Options = { destination?: string; last?: number; json?: true }

const text = z.string().nullable()
const answerShape = z.looseObject({
  items: z.array(
    z.looseObject({
      messageId: z.string(),
      sourceId: z.string(),
      type: z.string(),
      event: text,
      receivedAt: text,
      outcome: z.string(),
      condition: text,
      message: text,
      body: text,
    }),
  ),
  searchedSince: text,
})

type Answer = z.infer<typeof answerShape>

export function addPreview({ program, ...cli }: Cli): void {
  program
    .command('preview')
    .argument('[files...]', 'YAML files, folders of YAML files, or - for standard input, as for apply')
    .summary("try a destination's rules on recent events")
    .description(
      `Runs the rules of a destination on the newest events of its sources. Prints for each event whether it would be sent, which \
condition filters it out, and the body. Uses the rules in the files, or the stored rules if there are no files. Sends and \
stores nothing. Needs the admin token.`,
    )
    .option('--destination <id>', 'id of the destination; optional if the files contain only one')
    .option('--last <count>', 'maximum number of events, up to 200 (default: 50)', positiveInteger)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice preview settings/partner.yaml
  $ sluice preview settings/ --destination partner --last 200
  $ sluice preview --destination partner --json | jq -r '.items[].body'`,
    )
    .action(action<Options>(cli, act))
}

async function act(invocation: Invocation<Options>): Promise<ExitCode> {
  const { options, control, out } = invocation
  const api = await control()
  const { declared, filledIn } = await declaredIn(invocation)
  const id = declared?.id ?? options.destination ?? ''
  const stored = await storedDestination(api, id)
  const destination = declared?.body ?? stored
  if (!destination) throw new CliError('usage', `There is no destination ${id}.`)
  const { rules, sourceIds = [], eventTypes } = destination
  if (rules === undefined) throw new CliError('usage', `Destination ${id} has no rules.`)
  const json = {
    rules,
    sourceIds,
    ...(eventTypes !== undefined && { eventTypes }),
    ...(options.last !== undefined && { last: options.last }),
    ...(stored && { destinationId: id }),
  }
  const answer = await request(api, { method: 'POST', path: 'destinations/preview', json }, answerShape)
  for (const line of options.json ? [JSON.stringify(answer)] : shown(answer)) out.line(hide(line, filledIn))
  return 0
}

type Found = { declared?: { id: string; body: Members }; filledIn: ReadonlySet<string> }

/** @throws CliError usage, cannot_read, faulty_files */
async function declaredIn(invocation: Invocation<Options>): Promise<Found> {
  const { args, options, env } = invocation
  if (args.length === 0) {
    if (options.destination === undefined)
      throw new CliError('usage', 'Name files with a destination, or use --destination.')
    return { filledIn: new Set() }
  }
  const { records, faults, filledIn } = declare(await filesIn(invocation), env)
  const all = records.filter(({ collection }) => collection === 'destinations')
  const chosen = all.filter(({ id }) => id === (options.destination ?? id))
  const inRules = chosen.flatMap(({ body, located }) => rulesFaults(body.rules, ['rules']).map(located))
  if (faults.length + inRules.length > 0) throw faulty(allFaults(faults, inRules))
  const [found, another] = chosen
  if (found && !another) return { declared: found, filledIn }
  const ids = all.map(({ id }) => id).join(', ') || 'none'
  throw new CliError('usage', `Select one destination in the files with --destination. They contain: ${ids}.`)
}

/** Other commands take a destination's id instead of files. @throws CliError cannot_read */
async function filesIn(invocation: Invocation<Options>) {
  const { args } = invocation
  return readFiles(args, invocation).catch((error) => {
    const isId = args.length === 1 && /^[a-z0-9_-]{1,64}$/.test(args[0] ?? '')
    if (!isId || !(error instanceof CliError)) throw error
    throw new CliError(error.code, `${error.message}. For a destination, use --destination ${args[0]}`)
  })
}

const destinationShape = z.looseObject({})

async function storedDestination(api: Api, id: string): Promise<Members | undefined> {
  const path = `destinations/${encodeURIComponent(id)}`
  const answer = await api({ path })
  if (answer.status === 404) return undefined
  if (answer.status !== 200) throw refused(answer)
  return parseBody(answer, { path }, destinationShape)
}

function shown({ items, searchedSince }: Answer): string[] {
  const lines = items.flatMap(({ receivedAt, type, event, messageId, body, ...result }) => {
    const words = [receivedAt, type, event, `message ${messageId}`, decided(result)]
    const head = words
      .filter((word) => word !== null)
      .map(plain)
      .join('  ')
    return body === null ? [head] : [head, `  ${plain(body)}`]
  })
  if (items.length === 0)
    return [
      searchedSince === null ? 'The sources have no events yet.' : `No events since ${plain(searchedSince)}.`,
    ]
  const counts = [...Map.groupBy(items, ({ outcome }) => outcome)].map(
    ([outcome, of]) => `${of.length} ${outcome.replace('_', ' ')}`,
  )
  const events = items.length === 1 ? '1 event' : `${items.length} events`
  return [...lines, '', `${events}: ${counts.join(', ')}.`]
}

function decided({
  outcome,
  condition,
  message,
}: Pick<Answer['items'][number], 'outcome' | 'condition' | 'message'>) {
  if (condition !== null) return `${outcome} by ${condition}`
  return message === null ? outcome.replace('_', ' ') : `${outcome.replace('_', ' ')}: ${message}`
}
