import { type Command, CommanderError } from 'commander'
import pack from '../package.json' with { type: 'json' }
import { printable } from '../process/printable.ts'
import { addEvents } from './commands/calls/events.ts'
import { addSend } from './commands/calls/send.ts'
import { addTail } from './commands/calls/tail.ts'
import { addHelp, type Cli } from './commands/command.ts'
import { addAttempts } from './commands/deliveries/attempts.ts'
import { addDead } from './commands/deliveries/dead.ts'
import { addDeliveries } from './commands/deliveries/deliveries.ts'
import { addReplay } from './commands/deliveries/replay.ts'
import { addTest } from './commands/deliveries/test.ts'
import { addApply, addDiff } from './commands/settings/apply.ts'
import { addBackup, addRestore } from './commands/settings/backup.ts'
import { addExport, addKeys, addSchema } from './commands/settings/export.ts'
import { addPause, addResume } from './commands/settings/pause.ts'
import { addPreview } from './commands/settings/preview.ts'
import { addReplaceWriteKey } from './commands/settings/replace-write-key.ts'
import { addAcls } from './commands/system/acls.ts'
import { addEnv } from './commands/system/env.ts'
import { addHealth } from './commands/system/health.ts'
import { addLag } from './commands/system/lag.ts'
import { addStatus } from './commands/system/status.ts'
import { addDeleteUser } from './commands/users/delete-user.ts'
import { addDeletions } from './commands/users/deletions.ts'
import { addUpload } from './commands/users/upload.ts'
import { CliError, type Context, type ExitCode } from './context.ts'
import { FITTED_HELP, FittedCommand, widthOf } from './help.ts'

/** Throws only unexpected errors. @param args without node and the program's file */
export async function run(args: readonly string[], context: Context): Promise<ExitCode> {
  let code: ExitCode = 0
  try {
    const program = createProgram(context, (exitCode) => {
      code = exitCode
    })
    await program.parseAsync([...args], { from: 'user' })
  } catch (error) {
    // commander has already printed the error
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1
    if (!(error instanceof CliError)) throw error
    // it may quote a file, or control's answer
    context.err.line(error.message.split('\n').map(printable).join('\n'))
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
  addBackup,
  addRestore,
  addSend,
  addTail,
  addTest,
  addPreview,
  addEvents,
  addStatus,
  addHealth,
  addDeliveries,
  addAttempts,
  addDead,
  addReplay,
  addLag,
  addDeleteUser,
  addDeletions,
  addReplaceWriteKey,
  addPause,
  addResume,
  addUpload,
  addAcls,
  addEnv,
  addHelp,
]

const AFTER = `
Address and token: set SLUICE_URL (or --url) and CONTROL_TOKEN (or --token-file). Without an address, sluice uses the
npm start of this checkout if it is running (data folder: SLUICE_DATA, default .sluice), and that system's token. It never
sends that token to another address.

Exit codes:
  0  done; diff: nothing differs; status: nothing is wrong
  1  failed: refused, unreachable, or a mistake in the files or on the command line; test: a delivery failed
  2  diff: something differs; status: something is wrong; backup: a setting is missing

Examples:
  $ sluice diff settings/               # show what would change, field by field
  $ sluice apply settings/              # change it
  $ sluice tail shop                    # watch the calls of a source
  $ sluice dead --since 1h --json | jq .counts`

/** @param setExitCode receives the command's exit code */
function createProgram(context: Context, setExitCode: (code: ExitCode) => void): Command {
  const program = new FittedCommand('sluice')
    .description('The command line of Sluice: settings as files, and tools for operators.')
    .version(pack.version, '--version', 'print the version of this command')
    .option('--url <url>', 'address of control, for example https://sluice.example:8081 (SLUICE_URL)')
    .option('--token-file <file>', 'file that contains the token (instead of CONTROL_TOKEN)')
    .configureHelp({ showGlobalOptions: true, ...FITTED_HELP })
    .addHelpText('after', AFTER)
    .configureOutput({
      writeOut: (text) => context.out.line(text.trimEnd()),
      writeErr: (text) => context.err.line(text.trimEnd()),
      getOutHelpWidth: () => widthOf(context.out),
      getErrHelpWidth: () => widthOf(context.err),
    })
    .exitOverride()
  const cli: Cli = { program, context, setExitCode }
  for (const add of COMMANDS) add(cli)
  return program
}
