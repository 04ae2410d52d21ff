import type { Command } from 'commander'
import type { Adding } from './command.ts'

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
