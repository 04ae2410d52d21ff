import type { Command } from 'commander'
import { type Ask, askOf } from '../api/ask.ts'
import { findTarget } from '../target/find.ts'
import type { Target } from '../target/target.ts'
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
