import { DERIVED_ROLES, derivedKeys, parseConfigKey } from '../../schemas/config-key.ts'
import { CliFault } from '../fault.ts'
import type { ExitCode } from '../world.ts'
import { type Adding, type Doing, doing } from './command.ts'

export function addKeys({ program, ...adding }: Adding): void {
  program
    .command('keys')
    .summary('derive from CONFIG_KEY a smaller key for ingest, router and deliverer')
    .description(
      `Reads CONFIG_KEY from the environment and prints what to set as CONFIG_KEY for ingest, router and deliverer instead. With its
derived key, ingest can open sources' write keys only, the deliverer destinations' secrets only, and the router no secret at all.
control needs CONFIG_KEY itself. Nothing is sent anywhere.`,
    )
    .addHelpText(
      'after',
      `
Examples:
  $ CONFIG_KEY=$(cat config.key) sluice keys`,
    )
    .action(doing<object>(adding, act))
}

async function act({ env, out }: Doing<object>): Promise<ExitCode> {
  const texts = (env.CONFIG_KEY ?? '').split(',').map((text) => text.trim())
  const wholes = texts.map((text) => {
    const key = parseConfigKey(text)
    if (key && 'whole' in key) return key.whole
    throw new CliFault('usage', 'Set CONFIG_KEY to the key that control has: 32 bytes in base64.')
  })
  for (const role of DERIVED_ROLES)
    out.line(`${role}: CONFIG_KEY=${wholes.map((whole) => derivedKeys(role, whole)).join(',')}`)
  return 0
}
