import { type Command, InvalidArgumentError } from 'commander'
import ms, { type StringValue } from 'ms'
import { type Api, apiOf } from '../api/client.ts'
import { CliError, type Context, type ExitCode } from '../context.ts'
import { findTarget, type Target } from '../target.ts'

export type Cli = { program: Command; context: Context; setExitCode: (code: ExitCode) => void }

export type GlobalOptions = { url?: string; tokenFile?: string }

export type Invocation<O> = Context & {
  args: readonly string[]
  options: O & GlobalOptions
  /** @throws CliError no_address, no_token */
  target(): Promise<Target>
  /** The API with the token. @throws CliError no_address, no_token */
  control(): Promise<Api>
}

export function action<O>(
  { context, setExitCode }: Pick<Cli, 'context' | 'setExitCode'>,
  act: (invocation: Invocation<O>) => Promise<ExitCode>,
): (this: Command) => Promise<void> {
  return async function (this: Command) {
    const options = this.optsWithGlobals<O & GlobalOptions>()
    const target = () => findTarget(options, context.env)
    const control = async () => apiOf(await target())
    setExitCode(await act({ ...context, args: this.args, options, target, control }))
  }
}

export function print(
  { options, out }: Pick<Invocation<{ json?: true }>, 'options' | 'out'>,
  answer: unknown,
  lines: readonly string[],
): ExitCode {
  for (const line of options.json ? [JSON.stringify(answer)] : lines) out.line(line)
  return 0
}

export const collect = (value: string, before: readonly string[] = []): string[] => [...before, value]

export function positiveInteger(text: string): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number > 0 && Number.isSafeInteger(number)) return number
  throw new InvalidArgumentError('it must be a whole number above 0')
}

/** `ms` throws above 100 characters. */
const LENGTH = /^\d{1,10}(\.\d{1,9})?[smhd]$/
/** A date can be at most 8.64e15 ms before or after 1970. */
const MAX_MS = 8.64e15 / 2

function lengthOf(text: string): number | undefined {
  const length = LENGTH.test(text) ? ms(text as StringValue) : Number.NaN
  return length <= MAX_MS ? length : undefined
}

/** Parses `90s`, `15m`, `2h` or `7d` to milliseconds. */
export function duration(text: string): number {
  const length = text === '0' ? 0 : lengthOf(text)
  if (length !== undefined) return length
  throw new InvalidArgumentError('it must be a length of time, such as 15m, 2h or 7d')
}

/**
 * Converts an ISO 8601 time, or an age such as `15m`, to ISO 8601.
 * @param now milliseconds since 1970. @throws CliError usage
 */
export function timeOf(text: string | undefined, now: number): string | undefined {
  if (text === undefined) return undefined
  const age = lengthOf(text)
  if (age !== undefined) return new Date(now - age).toISOString()
  // without a zone, this machine's zone would apply
  if (/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/.test(text) && isDay(text) && !Number.isNaN(Date.parse(text)))
    return new Date(text).toISOString()
  throw new CliError(
    'usage',
    `"${text}" is not a time: use how long ago (15m, 2h, 7d) or a time such as 2026-01-02T03:04:05Z`,
  )
}

/** `Date` takes 31 February as 3 March. */
function isDay(text: string): boolean {
  const day = text.slice(0, 10)
  const date = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day)
}

type Filter = Partial<Record<'destination' | 'source' | 'message' | 'delivery' | 'since' | 'until', string>>

/** @param now milliseconds since 1970. @throws CliError usage */
export const filterOf = ({ destination, source, message, delivery, since, until }: Filter, now: number) => ({
  destinationId: destination,
  sourceId: source,
  messageId: message,
  deliveryId: delivery,
  since: timeOf(since, now),
  until: timeOf(until, now),
})

/** Replaces commander's help, which ignores `start` in `help replay start`. */
export function addHelp({ program }: Pick<Cli, 'program'>): void {
  program
    .command('help')
    .argument('[command...]', 'the command, for example: replay start')
    .summary('show what a command does, with options and examples')
    .description('Shows what a command does, with its options and examples.')
    .addHelpText('after', '\nExample:\n  $ sluice help replay start')
    .action((names: string[]) => names.reduce(subcommand, program).help())
}

function subcommand(command: Command, name: string): Command {
  const found = command.commands.find((each) => each.name() === name)
  return found ?? command.error(`error: unknown command '${name}'`)
}
