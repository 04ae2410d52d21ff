import type { FencedWriter } from '../../kafka/produce/transactions.ts'
import type { Logger } from '../../process/log.ts'
import type { Settings } from '../../settings/follow.ts'
import { readSetting } from '../../settings/read.ts'
import { type ConfigKeys, verify } from '../../settings/seal.ts'
import { KINDS } from '../../settings/settings.ts'
import { configRecord } from './write.ts'

type Resealing = {
  settings: { table: Pick<Settings['table'], 'entries' | 'get'> }
  writer: Pick<FencedWriter, 'write'>
  keys: ConfigKeys
  log: Pick<Logger, 'info' | 'warn'>
}

/** In one transaction. */
const AT_ONCE = 100

/**
 * Rewrites settings that an earlier version wrote unsigned, or that are signed with an old key, so that
 * UNSIGNED_SETTINGS=refuse and a CONFIG_KEY without the old key lock nothing out. Skips what cannot be read.
 */
export async function resealSettings({ settings, writer, keys, log }: Resealing): Promise<void> {
  const { table } = settings
  const old = [...table.entries()].filter(([key, value]) => isOld(key, value, keys))
  let count = 0
  for (let first = 0; first < old.length; first += AT_ONCE) {
    const written = await writer.write(() => {
      // one written in the meantime is newer
      const records = old
        .slice(first, first + AT_ONCE)
        .filter(([key, value]) => table.get(key) === value)
        .flatMap(([key, value]) => resealed(key, value, keys))
      count += records.length
      return records.length > 0 ? { records } : { refusal: 'none of them is old any more' }
    })
    if ('unavailable' in written)
      return log.warn(
        { err: written.unavailable },
        'old settings were not signed again; the next start of control tries again',
      )
  }
  if (count > 0) log.info({ settings: count }, 'old settings are signed and sealed again')
}

function isOld(key: string, value: Buffer, keys: ConfigKeys): boolean {
  const verified = verify(key, value.toString(), keys)
  return verified === 'unsigned' || (typeof verified === 'object' && verified.isOld)
}

function resealed(key: string, value: Buffer, keys: ConfigKeys) {
  const read = readSetting(key, value, { keys, kinds: KINDS })
  if (!read || 'unread' in read) return []
  const { kind, value: record } = read
  return [configRecord({ kind, id: record.id, record }, keys)]
}
