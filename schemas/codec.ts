import { readFileSync } from 'node:fs'
import avro from 'avsc'
import type { Decoded } from '../kafka/consume/record.ts'
import { messageOf } from '../process/thrown.ts'
import type { Attempt } from './attempt.ts'
import { bounded } from './avro/bounded-types.ts'
import { type SchemaSource, type Writer, WriterSchemas } from './avro/writer-schemas.ts'
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
  return {
    ...encoding<SchemaTypes[N]>({ name, type, id }),
    decode: decoding(type, new WriterSchemas({ type, id }, source)),
  }
}

function encoding<T>({ name, type, id }: { name: SchemaName; type: avro.Type; id: number }) {
  const fieldsBefore = prefixTypes(name)
  const encodeIn = createEncoder()
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt32BE(id, 1)

  function withHeader(encoded: Buffer): Buffer {
    header.copy(encoded)
    return encoded
  }

  const encode = (value: T) => withHeader(encodeIn(type, value))

  return {
    encode,
    encodeVariants(first: T, from: keyof T & string) {
      const encoded = encode(first)
      const prefix = fieldsBefore(from)
      let common: Buffer | undefined
      return {
        encoded,
        another(value: Partial<T>) {
          common ??= encoded.subarray(prefix.decode(encoded, HEADER_BYTES).offset)
          return withHeader(encodeIn(prefix, value, common))
        },
      }
    },
  }
}

function decoding<T>(type: avro.Type, writers: WriterSchemas): Codec<T>['decode'] {
  function read(value: Buffer, resolver: avro.Resolver): Decoded<T> {
    try {
      const decoded = type.decode(value, HEADER_BYTES, resolver)
      if (decoded.offset < 0) return { ok: false, reason: 'undecodable', message: 'the value ends early' }
      return { ok: true, value: decoded.value }
    } catch (error) {
      return { ok: false, reason: 'undecodable', message: messageOf(error) }
    }
  }

  const readBy = (writer: Writer, value: Buffer) => (writer.ok ? read(value, writer.value) : writer)

  return (value) => {
    if (value === null || value.length <= HEADER_BYTES || value[0] !== 0)
      return { ok: false, reason: 'undecodable', message: 'the value is not in Confluent wire format' }
    const writer = writers.writer(value.readUInt32BE(1))
    return writer instanceof Promise ? writer.then((found) => readBy(found, value)) : readBy(writer, value)
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
