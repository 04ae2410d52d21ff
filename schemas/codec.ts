import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SchemaRegistry } from '@kafkajs/confluent-schema-registry'
import avro from 'avsc'
import type { Decoded } from '../kafka/consume/record.ts'
import { messageOf } from '../process/thrown.ts'
import type { Attempt } from './attempt.ts'
import type { Delivery } from './delivery.ts'
import type { Event } from './event.ts'
import type { Rejected } from './rejected.ts'

export type SchemaTypes = { event: Event; delivery: Delivery; attempt: Attempt; rejected: Rejected }
export type SchemaName = keyof SchemaTypes

export const schemaText = (name: SchemaName) => readFileSync(new URL(`${name}.avsc`, import.meta.url), 'utf8')

/** Confluent's wire format: a zero byte, the id of the writer's schema in 4 bytes, the Avro body. */
export type Codec<T> = {
  encode(value: T): Buffer
  /**
   * Returns a promise while the writer's schema is unknown. Waits up to `waitMs` for an unreachable registry; after
   * that, records fail at once until it answers. Never rejects.
   */
  decode(value: Buffer | null): Decoded<T> | Promise<Decoded<T>>
}

export type VariantCodec<T> = Codec<T> & {
  /**
   * For values that are equal from field `from` on.
   * @returns the bytes of `first`, and a function that encodes another value from its fields before `from`.
   */
  encodeVariants(first: T, from: keyof T & string): { encoded: Buffer; another(value: Partial<T>): Buffer }
}

const HEADER_BYTES = 5

/** Longer than the registry takes to restart or move, because parked records must be put back by hand. */
export const SCHEMA_WAIT_MS = 300_000

/** `waitMs`: 0 by default. */
export type SchemaSource = { client: Pick<SchemaRegistry, 'getSchema'>; waitMs?: number; retryMs?: number }

/**
 * Reads older records with their writer's schema (`BACKWARD` compatibility).
 * @param id of the registered schema.
 */
export function codec<N extends SchemaName>(
  name: N,
  id: number,
  source: SchemaSource,
): VariantCodec<SchemaTypes[N]> {
  const type = avro.Type.forSchema(JSON.parse(schemaText(name)), { typeHook: bounded })
  const fieldsBefore = prefixTypes(name)
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

  const encodeIn = createEncoder()
  const encode = (value: SchemaTypes[N]) => withHeader(encodeIn(type, value))

  function withHeader(encoded: Buffer): Buffer {
    header.copy(encoded)
    return encoded
  }

  const readBy = (writer: Writer, value: Buffer) => (writer.ok ? read(value, writer.value) : writer)

  return {
    encode,
    encodeVariants(first, from) {
      const encoded = encode(first)
      const prefix = fieldsBefore(from)
      let common: Buffer | undefined
      return {
        encoded,
        another(value) {
          common ??= encoded.subarray(prefix.decode(encoded, HEADER_BYTES).offset)
          return withHeader(encodeIn(prefix, value, common))
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

/** What avsc's types read from. */
type Tap = { buf: Buffer; pos: number; readLong(): number; skipLong(): void; skipString(): void }

/**
 * avsc reads as many items as a block claims to have, even past the end of the value. So a few bytes could use up the
 * memory, or, in a field of a later schema that is skipped, keep the process busy without end. In our schemas, each
 * item takes at least one byte.
 */
function eachItem(tap: Tap, take: () => void): void {
  for (let count = tap.readLong(); count !== 0; count = tap.readLong()) {
    // a negative count is followed by the size of the block (Avro specification, "Arrays")
    if (count < 0) tap.skipLong()
    const size = Math.abs(count)
    if (size > tap.buf.length - tap.pos) throw new Error('the value ends early, in a list')
    for (let taken = 0; taken < size; taken++) take()
  }
}

/** What avsc's types have, but do not declare. */
type Reading = { _read(tap: Tap): unknown; _skip(tap: Tap): void }

class BoundedArray extends avro.types.ArrayType {
  _read(tap: Tap): unknown[] {
    const items = this.itemsType as unknown as Reading
    const read: unknown[] = []
    eachItem(tap, () => read.push(items._read(tap)))
    return read
  }

  _skip(tap: Tap): void {
    const items = this.itemsType as unknown as Reading
    eachItem(tap, () => items._skip(tap))
  }
}

class BoundedMap extends avro.types.MapType {
  _skip(tap: Tap): void {
    const values = this.valuesType as unknown as Reading
    eachItem(tap, () => {
      tap.skipString()
      values._skip(tap)
    })
  }
}

/** Our schemas have no maps, but later ones may. */
function bounded(schema: avro.Schema, options: avro.ForSchemaOptions): avro.Type | undefined {
  if (typeof schema !== 'object' || !('type' in schema)) return undefined
  if (schema.type === 'array') return new BoundedArray(schema, options)
  return schema.type === 'map' ? new BoundedMap(schema, options) : undefined
}

type Writer = Decoded<avro.Resolver>

const MAX_UNKNOWN = 1_000
/** Concurrent requests for schemas that no record waits for. */
const MAX_REQUESTS = 10

/**
 * Sends one request at a time for each writer's schema.
 * @param current the schema that this process writes.
 */
function createWriters(current: { type: avro.Type; id: number }, source: SchemaSource) {
  const { client, waitMs = 0, retryMs = 1_000 } = source
  const { type, id } = current
  const known = new Map<number, Writer>([[id, { ok: true, value: type.createResolver(type) }]])
  /** By id, the last answer. */
  const unknown = new Map<number, { answer: Writer; at: number }>()
  const requests = new Map<number, Promise<Writer>>()
  /** Set while the registry does not answer. */
  let away: { since: number; answer: Writer } | undefined
  const isGivenUp = (since: number) => performance.now() - since >= waitMs

  async function request(writerId: number): Promise<Writer> {
    for (;;) {
      const began = performance.now()
      const writer = await fetchResolver(client, type, writerId)
      const isAway = !writer.ok && writer.reason === 'registry_unreachable'
      away = isAway ? { since: away?.since ?? began, answer: writer } : undefined
      if (writer.ok) {
        known.set(writerId, writer)
        unknown.delete(writerId)
        return writer
      }
      if (!away || isGivenUp(away.since)) {
        if (unknown.size >= MAX_UNKNOWN) unknown.clear()
        unknown.set(writerId, { answer: writer, at: performance.now() })
        // no record waits any more, so only this notices that the registry is back
        if (away) setTimeout(answerMeanwhile, retryMs, writerId, writer).unref()
        return writer
      }
      await sleep(retryMs)
    }
  }

  function requestOnce(writerId: number): Promise<Writer> {
    const present = requests.get(writerId)
    if (present) return present
    const answer = request(writerId).finally(() => requests.delete(writerId))
    requests.set(writerId, answer)
    return answer
  }

  /** Asks again in the background. @returns the last answer. */
  function answerMeanwhile(writerId: number, answer: Writer): Writer {
    if (requests.size < MAX_REQUESTS) void requestOnce(writerId)
    return answer
  }

  return {
    writer(writerId: number): Writer | Promise<Writer> {
      const writer = known.get(writerId)
      if (writer) return writer
      const last = unknown.get(writerId)
      if (last)
        return performance.now() - last.at < retryMs ? last.answer : answerMeanwhile(writerId, last.answer)
      return away && isGivenUp(away.since) ? answerMeanwhile(writerId, away.answer) : requestOnce(writerId)
    },
  }
}

/** Values that are released at nearly the same time share a block of memory. */
const BLOCK_BYTES = 64 * 1024
/** A larger value that does not fit gets its own buffer, to waste little of a block. */
const LARGE_BYTES = BLOCK_BYTES / 4

/**
 * Leaves HEADER_BYTES free at the start. Each codec has its own blocks: records of one schema may wait for Kafka while
 * others are written.
 */
function createEncoder(): (type: avro.Type, value: unknown, rest?: Buffer) => Buffer {
  let block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  let used = 0
  return function encodeIn(type, value, rest) {
    const start = used
    const restBytes = rest?.length ?? 0
    const end = type.encode(value, block, start + HEADER_BYTES)
    // a negative end is the number of bytes that the block lacks
    const missing = end < 0 ? restBytes - end : end + restBytes - block.length
    if (missing <= 0) {
      rest?.copy(block, end)
      used = end + restBytes
      return block.subarray(start, used)
    }
    const bytes = block.length - start + missing
    if (bytes > LARGE_BYTES) {
      const separate = Buffer.allocUnsafeSlow(bytes)
      const valueEnd = type.encode(value, separate, HEADER_BYTES)
      rest?.copy(separate, valueEnd)
      return separate
    }
    block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
    used = 0
    return encodeIn(type, value, rest)
  }
}

/** Avro encodes a record's fields in order (specification, "Complex Types"). */
function prefixTypes(name: SchemaName): (before: string) => avro.Type {
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
    // the client returns avsc types under its own interface
    const writer = (await registry.getSchema(id)) as unknown as avro.Type
    const schema = writer.schema({ exportAttrs: true })
    return { ok: true, value: type.createResolver(avro.Type.forSchema(schema, { typeHook: bounded })) }
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
