import type { Command } from 'commander'
import { type Ask, askOf } from '../api/ask.ts'
import { findTarget, type Target } from '../target.ts'
import type { ExitCode, World } from '../world.ts'

/** Where a command is added, and what it will work with. */
export type Adding = { program: Command; world: World; end: (code: ExitCode) => void }

/** Of all commands. */
export type GlobalOptions = { url?: string; tokenFile?: string }

export type Doing<O> = World & {
  /** What stands on the command line beside options, in its order. */
  args: readonly string[]
  options: O & GlobalOptions
  /** Where the system is. @throws CliFault no_address, no_token */
  target(): Promise<Target>
  /** Control's API, with the token. @throws CliFault no_address, no_token */
  control(): Promise<Ask>
}

/** A command's action; `O` are its options as commander names them. */
export function doing<O>(
  { world, end }: Pick<Adding, 'world' | 'end'>,
  act: (asked: Doing<O>) => Promise<ExitCode>,
): (this: Command) => Promise<void> {
  return async function (this: Command) {
    const options = this.optsWithGlobals<O & GlobalOptions>()
    const target = () => findTarget(options, world.env)
    const control = async () => askOf(await target())
    end(await act({ ...world, args: this.args, options, target, control }))
  }
}

/** For options that can be given several times. */
export const collect = (value: string, before: readonly string[] = []): string[] => [...before, value]

/** Commander's own knows commands of the first level alone: of `help replay start` it shows `replay`. */
export function addHelp({ program }: Pick<Adding, 'program'>): void {
  program
    .command('help')
    .argument('[command...]', 'as it would be called')
    .summary('what a command does, its options and examples')
    .description('Tells what a command does, its options and examples.')
    .addHelpText('after', '\nExample:\n  $ sluice help replay start')
    .action((names: string[]) => names.reduce(below, program).help())
}

function below(command: Command, name: string): Command {
  const found = command.commands.find((each) => each.name() === name)
  return found ?? command.error(`error: unknown command '${name}'`)
}
