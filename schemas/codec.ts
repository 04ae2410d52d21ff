import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
import avro from 'avsc'
import type { Decoded } from '../kafka/consume/record.ts'
import type { Attempt } from './attempt.ts'
import type { Delivery } from './delivery.ts'
import type { Event } from './event.ts'
import type { Rejected } from './rejected.ts'

export type SchemaTypes = { event: Event; delivery: Delivery; attempt: Attempt; rejected: Rejected }
export type SchemaName = keyof SchemaTypes

/** @returns the schema's JSON text, as it is registered. */
export const schemaText = (name: SchemaName) => readFileSync(new URL(`${name}.avsc`, import.meta.url), 'utf8')

/** Values in Confluent's wire format: a zero byte, the writer schema's id in 4 bytes, the Avro body. */
export type Codec<T> = {
  encode(value: T): Buffer
  /**
   * At once but for the first record of each writer schema, which the registry is asked for. A registry that is away is asked again
   * for as long as the codec waits; after that what it does not know cannot be read, at once, until it answers. Never rejects.
   */
  decode(value: Buffer | null): Decoded<T> | Promise<Decoded<T>>
}

/** Of a schema whose records may have all but their first fields in common. */
export type AlikeCodec<T> = Codec<T> & {
  /**
   * For values that are equal from field `from` on: that part is encoded once.
   * @returns the bytes of `first`, and what encodes another, of which only the fields before `from` are read.
   */
  encodeAlike(first: T, from: keyof T & string): { encoded: Buffer; another(value: Partial<T>): Buffer }
}

const HEADER_BYTES = 5

/**
 * How long records wait for their schemas while the registry is away; then they cannot be read. Longer than a registry takes to be
 * restarted or moved: what is parked for it has to be put back by hand.
 */
export const SCHEMA_WAIT_MS = 300_000

/** Where schemas are asked for. `waitMs`: how long one that is away is asked again, 0 unless told. `againMs`: between two questions. */
export type SchemaSource = { client: Pick<SchemaRegistry, 'getSchema'>; waitMs?: number; againMs?: number }

/**
 * @param id the schema's id in the registry, as registered at start.
 * Old records are read with their writer's schema into today's (`BACKWARD` compatibility); the resolver is made once per id.
 */
export function codec<N extends SchemaName>(
  name: N,
  id: number,
  source: SchemaSource,
): AlikeCodec<SchemaTypes[N]> {
  const type = avro.Type.forSchema(JSON.parse(schemaText(name)))
  const fieldsBefore = prefixes(name)
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt32BE(id, 1)
  const writers = createWriters({ type, id }, source)

  function read(value: Buffer, resolver: avro.Resolver): Decoded<SchemaTypes[N]> {
    try {
      const decoded = type.decode(value, HEADER_BYTES, resolver)
      if (decoded.offset < 0) return { ok: false, reason: 'undecodable', message: 'the value ends early' }
      return { ok: true, value: decoded.value }
    } catch (error) {
      return { ok: false, reason: 'undecodable', message: messageOf(error) }
    }
  }

  const encode = (value: SchemaTypes[N]) => withHeader(encodeIn(type, value))

  function withHeader(encoded: Buffer): Buffer {
    header.copy(encoded)
    return encoded
  }

  const readBy = (writer: Writer, value: Buffer) => (writer.ok ? read(value, writer.value) : writer)

  return {
    encode,
    encodeAlike(first, from) {
      const encoded = encode(first)
      const own = fieldsBefore(from)
      let alike: Buffer | undefined
      return {
        encoded,
        another(value) {
          alike ??= encoded.subarray(own.decode(encoded, HEADER_BYTES).offset)
          return withHeader(encodeIn(own, value, alike))
        },
      }
    },
    decode(value) {
      if (value === null || value.length <= HEADER_BYTES || value[0] !== 0)
        return { ok: false, reason: 'undecodable', message: 'the value is not in Confluent wire format' }
      const writer = writers.writer(value.readUInt32BE(1))
      return writer instanceof Promise ? writer.then((found) => readBy(found, value)) : readBy(writer, value)
    },
  }
}

/** How what was written with a schema is read with the present one; or why that cannot be known. */
type Writer = Decoded<avro.Resolver>

/** More than so many schemas that nobody knows are not remembered. */
const MOST_UNKNOWN = 1_000
/** More than so many are not asked for at once where no record waits for them. */
const MOST_ASKED = 10

/**
 * The writers' schemas by their ids. One question for each, however many records wait for it.
 * @param own the present schema, which need not be asked for.
 */
function createWriters(own: { type: avro.Type; id: number }, source: SchemaSource) {
  const { client, waitMs = 0, againMs = 1_000 } = source
  const { type, id } = own
  const known = new Map<number, Writer>([[id, { ok: true, value: type.createResolver(type) }]])
  /** What has been said of the others last, and when. */
  const unknown = new Map<number, { said: Writer; at: number }>()
  const asked = new Map<number, Promise<Writer>>()
  /** Since when the registry has not answered, and what came of the last question. */
  let away: { since: number; said: Writer } | undefined
  const isGivenUp = (since: number) => performance.now() - since >= waitMs

  async function ask(writerId: number): Promise<Writer> {
    for (;;) {
      const began = performance.now()
      const writer = await fetchResolver(client, type, writerId)
      const isAway = !writer.ok && writer.reason === 'registry_unreachable'
      away = isAway ? { since: away?.since ?? began, said: writer } : undefined
      if (writer.ok) {
        known.set(writerId, writer)
        unknown.delete(writerId)
        return writer
      }
      if (!away || isGivenUp(away.since)) {
        if (unknown.size >= MOST_UNKNOWN) unknown.clear()
        unknown.set(writerId, { said: writer, at: performance.now() })
        // that it is back must be known before the next schema is needed: its record would not wait
        if (away) setTimeout(meanwhile, againMs, writerId, writer).unref()
        return writer
      }
      await sleep(againMs)
    }
  }

  function askOnce(writerId: number): Promise<Writer> {
    const present = asked.get(writerId)
    if (present) return present
    const answer = ask(writerId).finally(() => asked.delete(writerId))
    asked.set(writerId, answer)
    return answer
  }

  /** What was said last, while it is asked again beside that. */
  function meanwhile(writerId: number, said: Writer): Writer {
    if (asked.size < MOST_ASKED) void askOnce(writerId)
    return said
  }

  return {
    /** Once the registry has been away for `waitMs`, no record waits for it any more until it answers. */
    writer(writerId: number): Writer | Promise<Writer> {
      const writer = known.get(writerId)
      if (writer) return writer
      const last = unknown.get(writerId)
      if (last) return performance.now() - last.at < againMs ? last.said : meanwhile(writerId, last.said)
      return away && isGivenUp(away.since) ? meanwhile(writerId, away.said) : askOnce(writerId)
    },
  }
}

/** Values are made one behind the other in pieces of memory of this size, as they are used, and let go, at nearly the same time. */
const PIECE_BYTES = 64 * 1024
/** What is larger, and finds no room in the present piece, has one of its own: no piece is left with more than so much unused. */
const LARGE_BYTES = PIECE_BYTES / 4
let piece = Buffer.allocUnsafeSlow(PIECE_BYTES)
let taken = 0

/** @returns the value behind room for its header, and `rest` behind it. */
function encodeIn(type: avro.Type, value: unknown, rest?: Buffer): Buffer {
  const start = taken
  const restBytes = rest?.length ?? 0
  const end = type.encode(value, piece, start + HEADER_BYTES)
  // by -end the piece is too small for the value alone
  const missing = end < 0 ? restBytes - end : end + restBytes - piece.length
  if (missing <= 0) {
    rest?.copy(piece, end)
    taken = end + restBytes
    return piece.subarray(start, taken)
  }
  const bytes = piece.length - start + missing
  if (bytes > LARGE_BYTES) {
    const own = Buffer.allocUnsafeSlow(bytes)
    const ownEnd = type.encode(value, own, HEADER_BYTES)
    rest?.copy(own, ownEnd)
    return own
  }
  piece = Buffer.allocUnsafeSlow(PIECE_BYTES)
  taken = 0
  return encodeIn(type, value, rest)
}

/** A record is its fields in their order, and nothing else (Avro specification, "Complex Types"). */
function prefixes(name: SchemaName): (before: string) => avro.Type {
  const schema: { name: string; fields: { name: string }[] } = JSON.parse(schemaText(name))
  const made = new Map<string, avro.Type>()
  return (before) => {
    const present = made.get(before)
    if (present) return present
    const fields = schema.fields.slice(
      0,
      schema.fields.findIndex((field) => field.name === before),
    )
    const prefix = avro.Type.forSchema({
      type: 'record',
      name: `${schema.name}Prefix`,
      fields,
    } as avro.Schema)
    made.set(before, prefix)
    return prefix
  }
}

async function fetchResolver(
  registry: Pick<SchemaRegistry, 'getSchema'>,
  type: avro.Type,
  id: number,
): Promise<Decoded<avro.Resolver>> {
  try {
    // the registry's client hands out avsc types for Avro schemas, under an interface of its own
    const writer = (await registry.getSchema(id)) as unknown as avro.Type
    return { ok: true, value: type.createResolver(avro.Type.forSchema(writer.schema({ exportAttrs: true }))) }
  } catch (error) {
    const unreachable =
      typeof error === 'object' && error !== null && 'status' in error && error.status !== 404
    return {
      ok: false,
      reason: unreachable ? 'registry_unreachable' : 'unknown_schema',
      message: messageOf(error),
    }
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

export { SchemaType }
