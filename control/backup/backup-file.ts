import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { type Deletion, taskCodec, taskKey } from '../../schemas/task.ts'
import { partsOf, type Setting } from '../../settings/lookup.ts'
import { readSetting } from '../../settings/read.ts'
import type { Facts } from '../../settings/resources/resource.ts'
import { type ConfigKeys, type Keys, sealRecord } from '../../settings/seal.ts'
import { KINDS } from '../../settings/settings.ts'

/**
 * A backup is UTF-8 text. The first line is JSON about the backup (`BEGINNING`). Each further line is `kind/id`, a
 * space, and the record as in topic `config` (settings/seal.ts) or, for deletions, topic `tasks`. The last line is
 * `end` with an HMAC-SHA256 over all bytes before it.
 */
const FORMAT = 1

/** Identifies a key without revealing it. */
const keyIdOf = (key: Buffer) => createHmac('sha256', key).update('key id').digest('base64url').slice(0, 12)

export const BACKED_UP = [...KINDS, 'deletion'] as const

const counts = z.record(z.enum(BACKED_UP), z.number())
const headShape = z.looseObject({
  madeAt: z.string(),
  counts,
  missing: z.array(z.string()),
})

/** Names the signing key without JSON that is not verified: 250 MB of brackets took 4 GB, and control stopped. */
const BEGINNING = /^\uFEFF?\{"sluice":"backup","format":(\d{1,9}),"keyId":"([\w-]{12})",/

/** `madeAt`: ISO 8601 UTC. `missing`: keys of settings that could not be read. */
export type BackupHead = Pick<z.infer<typeof headShape>, 'madeAt' | 'counts' | 'missing'>

export type BackupFacts = Omit<Facts, 'sourceByWriteKey'> & { deletions: ReadonlyMap<string, Deletion> }

/** Copies references to all records at once. Lines are made while they are sent. */
export function backupLines(facts: BackupFacts, keys: ConfigKeys, madeAt: string): Iterable<string> {
  const records = {
    suppression: [...facts.suppressions.values()],
    audience: [...facts.audiences.values()],
    trait: [...facts.traits.values()],
    destination: [...facts.destinations.values()],
    source: [...facts.sources.values()],
  }
  const deletions = [...facts.deletions.values()]
  const lengths = Object.entries({ ...records, deletion: deletions }).map(([kind, all]) => [kind, all.length])
  const missing = [...facts.unreadable].filter(([, { isKept }]) => !isKept).map(([key]) => key)
  const head = { madeAt, counts: Object.fromEntries(lengths), missing }

  function* lines(): Generator<string> {
    for (const [kind, all] of Object.entries(records))
      for (const record of all) {
        const key = `${kind}/${record.id}`
        yield `${key} ${sealRecord(key, record, keys)}`
      }
    for (const deletion of deletions) yield `${taskKey(deletion)} ${taskCodec.encode(deletion)}`
  }
  return signed(head, lines(), keys.backups ?? [])
}

function* signed(head: BackupHead, lines: Iterable<string>, [key]: Keys): Generator<string> {
  if (!key) throw new Error('no key to sign with')
  const mac = createHmac('sha256', key)
  function hashed(line: string): string {
    mac.update(`${line}\n`)
    return `${line}\n`
  }
  yield hashed(JSON.stringify({ sluice: 'backup', format: FORMAT, keyId: keyIdOf(key), ...head }))
  for (const line of lines) yield hashed(line)
  yield `end ${mac.digest('base64url')}\n`
}

export type BackupFault = {
  code: 'backup_invalid' | 'backup_other_key' | 'backup_altered'
  message: string
}

/** Signed correctly; its records are not read yet. */
export type VerifiedBackup = { head: BackupHead; lines(): Iterable<string> }

/** Longer than `BEGINNING` and the last line. */
const startOf = (bytes: Buffer, from: number) => bytes.toString('utf8', from, from + 100)

export function verifyBackup(bytes: Buffer, keys: Keys): VerifiedBackup | BackupFault {
  const firstEnd = bytes.indexOf('\n')
  const [, format, keyId] = BEGINNING.exec(startOf(bytes, 0)) ?? []
  if (format === undefined) return NOT_ONE
  if (Number(format) !== FORMAT) return invalid(`A later version made this backup (format ${format})`)
  if (bytes[0] !== CURLY) return rewritten('begins with a byte order mark')
  if (bytes[firstEnd - 1] === CR) return rewritten('ends with CR LF instead of LF')
  const lastStart = bytes.lastIndexOf('\n', bytes.length - 2) + 1
  const [, given] = /^end ([\w-]{43})\n?$/.exec(startOf(bytes, lastStart)) ?? []
  if (given === undefined || lastStart <= firstEnd)
    return invalid('The backup is incomplete or was altered: its last line is not its signature')
  const key = keys.find((each) => keyIdOf(each) === keyId)
  if (!key) return OTHER_KEY
  const mac = createHmac('sha256', key).update(bytes.subarray(0, lastStart)).digest('base64url')
  if (!timingSafeEqual(Buffer.from(mac), Buffer.from(given))) return ALTERED
  const head = parsedHead(bytes.toString('utf8', 0, firstEnd))
  if (!head) return NOT_ONE
  return { head, lines: () => linesIn(bytes.subarray(firstEnd + 1, lastStart)) }
}

const invalid = (message: string): BackupFault => ({ code: 'backup_invalid', message })

const NOT_ONE = invalid('This is not a backup of Sluice')

const OTHER_KEY: BackupFault = {
  code: 'backup_other_key',
  message:
    'The backup was made under another CONFIG_KEY. Start control with CONFIG_KEY=<new>,<the one of the backup>, and restore again',
}

const ALTERED: BackupFault = {
  code: 'backup_altered',
  message: 'The backup was altered after it was made. Use another copy',
}

const [CURLY, CR] = Buffer.from('{\r')

const rewritten = (how: string): BackupFault => ({
  code: 'backup_altered',
  message: `Line 1 of the backup ${how}: a program has rewritten the file. Undo that, or use another copy`,
})

function parsedHead(line: string): z.infer<typeof headShape> | undefined {
  try {
    return headShape.safeParse(JSON.parse(line)).data
  } catch {
    return undefined
  }
}

function* linesIn(bytes: Buffer): Generator<string> {
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf('\n', from)
    yield bytes.toString('utf8', from, end)
    from = end + 1
  }
}

/** @returns the record with its secrets in clear, or why not. */
export function readLine(line: string, keys: ConfigKeys): Setting | Deletion | BackupFault {
  const space = line.indexOf(' ')
  const [key, value] = [line.slice(0, space), Buffer.from(line.slice(space + 1))]
  if (partsOf(key).kind === ('deletion' as string)) {
    const decoded = taskCodec.decode(value)
    const isDeletion = 'ok' in decoded && decoded.ok && decoded.value.kind === 'deletion'
    return isDeletion ? (decoded.value as Deletion) : unreadable(key, 'it is not a deletion')
  }
  const read = readSetting(key, value, { keys, kinds: KINDS })
  if (!read) return unreadable(key, 'this version does not know its kind')
  return 'unread' in read ? unreadable(key, read.reason) : read
}

const unreadable = (key: string, reason: string): BackupFault =>
  invalid(`The record ${key} in the backup cannot be read: ${reason}. A later version may have made it`)
