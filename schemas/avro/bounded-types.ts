import avro from 'avsc'

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

/** A `typeHook`. Our schemas have no maps, but later ones may. */
export function bounded(schema: avro.Schema, options: avro.ForSchemaOptions): avro.Type | undefined {
  if (typeof schema !== 'object' || !('type' in schema)) return undefined
  if (schema.type === 'array') return new BoundedArray(schema, options)
  return schema.type === 'map' ? new BoundedMap(schema, options) : undefined
}
