import { CommanderError } from 'commander'
import { CliFault } from './fault.ts'
import { createProgram } from './program.ts'
import type { ExitCode, World } from './world.ts'

/** Runs one command; never throws what its user can put right. @param args without node and the program's file. */
export async function run(args: readonly string[], world: World): Promise<ExitCode> {
  let code: ExitCode = 0
  try {
    const program = createProgram(world, (ended) => {
      code = ended
    })
    await program.parseAsync([...args], { from: 'user' })
  } catch (error) {
    // it has said itself what is wrong with the command line
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1
    if (!(error instanceof CliFault)) throw error
    world.err.line(error.message)
    return 1
  }
  return code
}
