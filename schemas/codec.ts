import { readFileSync } from 'node:fs'
import { type SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
import avro from 'avsc'
import type { Attempt } from './attempt.ts'
import type { Delivery } from './delivery.ts'
import type { Event } from './event.ts'
import type { Rejected } from './rejected.ts'

export type SchemaTypes = { event: Event; delivery: Delivery; attempt: Attempt; rejected: Rejected }
export type SchemaName = keyof SchemaTypes

/** @returns the schema's JSON text, as it is registered. */
export const schemaText = (name: SchemaName) => readFileSync(new URL(`${name}.avsc`, import.meta.url), 'utf8')

/** What came of reading a record's value. `unreachable` passes by itself, the others do not. */
export type Decoded<T> =
  | { ok: true; value: T }
  | { ok: false; reason: 'undecodable' | 'unknown_schema' | 'registry_unreachable'; message: string }

/** Values in Confluent's wire format: a zero byte, the writer schema's id in 4 bytes, the Avro body. */
export type Codec<T> = {
  encode(value: T): Buffer
  /** Resolves at once but for the first record of each writer schema, which the registry is asked for. */
  decode(value: Buffer | null): Decoded<T> | Promise<Decoded<T>>
}

const HEADER_BYTES = 5

/**
 * @param id the schema's id in the registry, as registered at start.
 * Old records are read with their writer's schema into today's (`BACKWARD` compatibility); the resolver is made once per id.
 */
export function codec<N extends SchemaName>(
  name: N,
  id: number,
  registry: Pick<SchemaRegistry, 'getSchema'>,
): Codec<SchemaTypes[N]> {
  const type = avro.Type.forSchema(JSON.parse(schemaText(name)))
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt32BE(id, 1)
  const resolvers = new Map<number, avro.Resolver>([[id, type.createResolver(type)]])

  function read(value: Buffer, resolver: avro.Resolver): Decoded<SchemaTypes[N]> {
    try {
      const decoded = type.decode(value, HEADER_BYTES, resolver)
      if (decoded.offset < 0) return { ok: false, reason: 'undecodable', message: 'the value ends early' }
      return { ok: true, value: decoded.value }
    } catch (error) {
      return { ok: false, reason: 'undecodable', message: messageOf(error) }
    }
  }

  async function learn(value: Buffer, writerId: number): Promise<Decoded<SchemaTypes[N]>> {
    const resolver = await fetchResolver(registry, type, writerId)
    if (!resolver.ok) return resolver
    resolvers.set(writerId, resolver.value)
    return read(value, resolver.value)
  }

  return {
    encode(value) {
      const encoded = encodeIn(type, value)
      header.copy(encoded)
      return encoded
    },
    decode(value) {
      if (value === null || value.length <= HEADER_BYTES || value[0] !== 0)
        return { ok: false, reason: 'undecodable', message: 'the value is not in Confluent wire format' }
      const writerId = value.readUInt32BE(1)
      const resolver = resolvers.get(writerId)
      return resolver ? read(value, resolver) : learn(value, writerId)
    },
  }
}

/** Values are made one behind the other in pieces of memory of this size, as they are used, and let go, at nearly the same time. */
const PIECE_BYTES = 64 * 1024
/** What is larger, and finds no room in the present piece, has one of its own: no piece is left with more than so much unused. */
const LARGE_BYTES = PIECE_BYTES / 4
let piece = Buffer.allocUnsafeSlow(PIECE_BYTES)
let taken = 0

/** @returns the value behind room for its header. */
function encodeIn(type: avro.Type, value: unknown): Buffer {
  const start = taken
  const end = type.encode(value, piece, start + HEADER_BYTES)
  if (end >= 0) {
    taken = end
    return piece.subarray(start, end)
  }
  // by -end the piece is too small
  const bytes = piece.length - start - end
  if (bytes > LARGE_BYTES) {
    const own = Buffer.allocUnsafeSlow(bytes)
    type.encode(value, own, HEADER_BYTES)
    return own
  }
  piece = Buffer.allocUnsafeSlow(PIECE_BYTES)
  taken = 0
  return encodeIn(type, value)
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
