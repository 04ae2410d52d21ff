import { Command } from 'commander'
import { addApply } from './commands/apply.ts'
import { addAttempts } from './commands/attempts.ts'
import type { Adding } from './commands/command.ts'
import { addDead } from './commands/dead.ts'
import { addDeleteUser } from './commands/delete-user.ts'
import { addDiff } from './commands/diff.ts'
import { addExport } from './commands/export.ts'
import { addHealth } from './commands/health.ts'
import { addHelp } from './commands/help.ts'
import { addKeys } from './commands/keys.ts'
import { addLag } from './commands/lag.ts'
import { addReplay } from './commands/replay.ts'
import { addSchema } from './commands/schema.ts'
import { addSend } from './commands/send.ts'
import { addTail } from './commands/tail.ts'
import { addTest } from './commands/test.ts'
import type { ExitCode, World } from './world.ts'

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
