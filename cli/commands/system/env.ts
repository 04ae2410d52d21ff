import type { ExitCode } from '../../context.ts'
import { action, type Cli, type Invocation } from '../command.ts'

type Options = { json?: true }

export function addEnv({ program, ...cli }: Cli): void {
  program
    .command('env')
    .summary('print addresses and the token, to use in a shell')
    .description(
      `Prints the addresses of the running system and its token as assignments for sh, bash and zsh. They are not exported, so \
other programs started from the shell do not see them.`,
    )
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
  CONTROL   address of control
  INGEST    address of ingest
  BROKERS   Kafka
  REGISTRY  schema registry
  TOKEN     control token

For any system but the npm start of this checkout, set SLUICE_INGEST_URL, KAFKA_BROKERS and SCHEMA_REGISTRY_URL to get INGEST,
BROKERS and REGISTRY.

Examples:
  $ eval "$(sluice env)"
  $ curl "$CONTROL/api/health" -H "Authorization: Bearer $TOKEN"
  $ kcat -b "$BROKERS" -L
  $ sluice env --json | jq -r .registry`,
    )
    .action(action<Options>(cli, act))
}

async function act({ options, target, out, err }: Invocation<Options>): Promise<ExitCode> {
  const found = await target()
  const unknown: string[] = []
  for (const name of NAMES) {
    const value = found[name]
    if (value === undefined) unknown.push(name.toUpperCase())
    else if (!options.json) out.line(`${name.toUpperCase()}=${quoted(value)}`)
  }
  if (options.json) out.line(JSON.stringify(found, [...NAMES]))
  if (unknown.length > 0) err.line(`Not known: ${unknown.join(', ')} (see sluice help env).`)
  return 0
}

const NAMES = ['control', 'ingest', 'brokers', 'registry', 'token'] as const

/** An argument for sh. */
export const quoted = (text: string): string =>
  /^[\w.:/@%,+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
