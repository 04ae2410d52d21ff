import { Command, CommanderError } from 'commander'
import { addApply, addDiff } from './commands/apply.ts'
import { addAttempts } from './commands/attempts.ts'
import { type Adding, addHelp } from './commands/command.ts'
import { addDead } from './commands/dead.ts'
import { addDeleteUser } from './commands/delete-user.ts'
import { addExport, addKeys, addSchema } from './commands/export.ts'
import { addHealth } from './commands/health.ts'
import { addLag } from './commands/lag.ts'
import { addReplay } from './commands/replay.ts'
import { addSend } from './commands/send.ts'
import { addTail } from './commands/tail.ts'
import { addTest } from './commands/test.ts'
import { CliFault, type ExitCode, type World } from './world.ts'

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

const COMMANDS = [
  addDiff,
  addApply,
  addExport,
  addKeys,
  addSchema,
  addSend,
  addTail,
  addTest,
  addHealth,
  addAttempts,
  addDead,
  addReplay,
  addLag,
  addDeleteUser,
  addHelp,
]

const AFTER = `
Where it asks: --url or SLUICE_URL with the token in CONTROL_TOKEN or --token-file; without an address the npm start of
this checkout, when it runs (its data folder is SLUICE_DATA, or .sluice). The token of that one is sent nowhere else.

Exit codes:
  0  done; of diff: nothing differs
  1  failed: refused, unreachable, faults in files or on the command line; of test: a URL was not delivered to
  2  of diff only: something differs

Examples:
  $ sluice diff settings/               # what would change, field by field
  $ sluice apply settings/              # and change it
  $ sluice tail shop                    # calls of a source as they come
  $ sluice dead --since 1h --json | jq .counts`

/** @param end told what the command that was run comes to. */
export function createProgram(world: World, end: (code: ExitCode) => void): Command {
  const program = new Command('sluice')
    .description('Sluice from the command line: settings as files, and what operators need.')
    .option('--url <url>', 'address of control, like https://sluice.example:8081 (SLUICE_URL)')
    .option('--token-file <file>', 'file with the token, instead of CONTROL_TOKEN')
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', AFTER)
    .configureOutput({
      writeOut: (text) => world.out.line(text.trimEnd()),
      writeErr: (text) => world.err.line(text.trimEnd()),
    })
    .exitOverride()
  const adding: Adding = { program, world, end }
  for (const add of COMMANDS) add(adding)
  return program
}
