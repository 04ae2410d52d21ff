import type { Command } from 'commander'
import { faulty } from '../settings/apply.ts'
import { type Declaration, declare } from '../settings/declare.ts'
import type { Ref } from '../settings/form.ts'
import { type Planned, planNow } from '../settings/plan-now.ts'
import { readFiles } from '../settings/read-files.ts'
import type { Doing } from './command.ts'

/** What `diff` and `apply` have in common. */
export type Drafting = { prune?: true }

export const filesOption = (command: Command): Command =>
  command
    .argument('<files...>', 'YAML files, folders of them, - for standard input')
    .option('--prune', 'remove what the files do not have')
    .option('--json', 'as one JSON document')

export const FILES = `
A file has lists of records under sources, destinations, audiences and traits, each with its id and the fields of the API; what
a record does not name is as if it had never been set, but for a write key, which stays. Several documents, files and folders
count as one. \${NAME} in a text is a variable of the environment; $\${ is \${ itself.

--prune looks only at those of the four that the files have a list of; [] is a list, of none.

Secrets and the values of webhooks' headers are compared by the API, which says only whether they differ; a token that may only
read cannot have it do that. "***" keeps what is stored.`

export type Draft = {
  declaration: Declaration
  /** Reads the settings that there are, and decides. @throws CliFault faulty_files */
  planNow(isDone?: (ref: Ref) => boolean): Promise<Planned>
}

/** @throws CliFault cannot_read, faulty_files */
export async function draft({
  args,
  options,
  env,
  readInput,
  now,
  control,
}: Doing<Drafting>): Promise<Draft> {
  const declaration = declare(await readFiles(args, { readInput }), env)
  if ('faults' in declaration) throw faulty(declaration.faults)
  const { prune = false } = options
  return {
    declaration,
    async planNow(isDone = () => false) {
      const planned = await planNow(declaration, await control(), {
        prune,
        isDone,
        now: new Date(now()).toISOString(),
      })
      if ('faults' in planned) throw faulty(planned.faults)
      return planned
    },
  }
}
