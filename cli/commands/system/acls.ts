import { type Permission, permissionsOf } from '../../../schemas/permissions.ts'
import { ROLES } from '../../../settings/config-key.ts'
import type { ExitCode } from '../../context.ts'
import { action, type Cli, type Invocation, print } from '../command.ts'
import { quoted } from './env.ts'

type Options = { principal: string; command: string; topicPrefix?: string; json?: true }
type Granted = Permission & { process: string; principal: string }

export function addAcls({ program, ...cli }: Cli): void {
  program
    .command('acls')
    .summary('print the permissions that each process needs in Kafka')
    .description(
      `Prints kafka-acls commands for the permissions that ingest, router, deliverer and control need if Kafka has an authorizer. \
Sends nothing to any system.`,
    )
    .option(
      '--principal <name>',
      'Kafka user of each process; {process} is replaced by ingest, router, deliverer or control',
      'User:sluice-{process}',
    )
    .option('--topic-prefix <prefix>', 'TOPIC_PREFIX of the system (default: from the environment, or none)')
    .option(
      '--command <command>',
      'how to run kafka-acls',
      'kafka-acls --bootstrap-server localhost:9092 --command-config admin.properties',
    )
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice acls > acls.sh && sh -e acls.sh
  $ sluice acls --principal User:sluice      # one user for all processes
  $ sluice acls --principal 'User:CN={process},O=Example'
  $ sluice acls --json | jq -c '.[] | select(.process == "ingest")'`,
    )
    .action(action<Options>(cli, act))
}

async function act(invocation: Invocation<Options>): Promise<ExitCode> {
  const { options, env } = invocation
  const prefix = options.topicPrefix ?? env.TOPIC_PREFIX ?? ''
  const granted = ROLES.flatMap((process) => {
    const principal = options.principal.replaceAll('{process}', process)
    return permissionsOf(process, prefix).map((permission) => ({ process, principal, ...permission }))
  })
  return print(invocation, granted, commands(granted, options.command))
}

/** One command for all resources on which a user has the same rights. */
function commands(granted: readonly Granted[], command: string): string[] {
  const alike = Map.groupBy(granted, ({ principal, resource, pattern, operations }) =>
    [principal, resource, pattern, ...operations].join(' '),
  )
  return [...alike.values()].map((group) => {
    const [{ principal = '', resource = '', pattern = '', operations = [] } = {}] = group
    const names = new Set(group.map(({ name }) => name))
    return [
      `${command} --add --allow-principal ${quoted(principal)}`,
      ...operations.map((operation) => `--operation ${operation}`),
      ...(pattern === 'prefixed' ? ['--resource-pattern-type prefixed'] : []),
      ...(resource === 'cluster' ? ['--cluster'] : [...names].map((name) => `--${resource} ${quoted(name)}`)),
    ].join(' ')
  })
}
