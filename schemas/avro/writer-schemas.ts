import { setTimeout as sleep } from 'node:timers/promises'
import type { SchemaRegistry } from '@kafkajs/confluent-schema-registry'
import avro from 'avsc'
import type { Decoded } from '../../kafka/consume/record.ts'
import { messageOf } from '../../process/thrown.ts'
import { bounded } from './bounded-types.ts'

/** Longer than the registry takes to restart or move, because parked records must be put back by hand. */
export const SCHEMA_WAIT_MS = 300_000

/** `waitMs`: 0 by default. */
export type SchemaSource = { client: Pick<SchemaRegistry, 'getSchema'>; waitMs?: number; retryMs?: number }

export type Writer = Decoded<avro.Resolver>

const MAX_UNKNOWN = 1_000
/** Concurrent requests for schemas that no record waits for. */
const MAX_REQUESTS = 10

/** The schemas of records' writers, by id. Sends one request at a time for each. */
export class WriterSchemas {
  readonly #type: avro.Type
  readonly #client: SchemaSource['client']
  readonly #waitMs: number
  readonly #retryMs: number
  readonly #known = new Map<number, Writer>()
  /** By id, the last answer. */
  readonly #unknown = new Map<number, { answer: Writer; at: number }>()
  readonly #requests = new Map<number, Promise<Writer>>()
  /** Set while the registry does not answer. */
  #away: { since: number; answer: Writer } | undefined

  /** @param current the schema that this process writes. */
  constructor(current: { type: avro.Type; id: number }, source: SchemaSource) {
    const { client, waitMs = 0, retryMs = 1_000 } = source
    this.#type = current.type
    this.#client = client
    this.#waitMs = waitMs
    this.#retryMs = retryMs
    this.#known.set(current.id, { ok: true, value: current.type.createResolver(current.type) })
  }

  writer(id: number): Writer | Promise<Writer> {
    const writer = this.#known.get(id)
    if (writer) return writer
    const last = this.#unknown.get(id)
    if (last)
      return performance.now() - last.at < this.#retryMs
        ? last.answer
        : this.#answerMeanwhile(id, last.answer)
    const away = this.#away
    return away && this.#isGivenUp(away.since)
      ? this.#answerMeanwhile(id, away.answer)
      : this.#requestOnce(id)
  }

  /** Asks again in the background. @returns the last answer. */
  #answerMeanwhile(id: number, answer: Writer): Writer {
    if (this.#requests.size < MAX_REQUESTS) void this.#requestOnce(id)
    return answer
  }

  #requestOnce(id: number): Promise<Writer> {
    const present = this.#requests.get(id)
    if (present) return present
    const answer = this.#request(id).finally(() => this.#requests.delete(id))
    this.#requests.set(id, answer)
    return answer
  }

  async #request(id: number): Promise<Writer> {
    for (;;) {
      const began = performance.now()
      const writer = await fetchResolver(this.#client, this.#type, id)
      const isAway = !writer.ok && writer.reason === 'registry_unreachable'
      this.#away = isAway ? { since: this.#away?.since ?? began, answer: writer } : undefined
      if (writer.ok) {
        this.#known.set(id, writer)
        this.#unknown.delete(id)
        return writer
      }
      if (!this.#away || this.#isGivenUp(this.#away.since)) return this.#giveUp(id, writer)
      await sleep(this.#retryMs)
    }
  }

  #isGivenUp(since: number): boolean {
    return performance.now() - since >= this.#waitMs
  }

  #giveUp(id: number, answer: Writer): Writer {
    if (this.#unknown.size >= MAX_UNKNOWN) this.#unknown.clear()
    this.#unknown.set(id, { answer, at: performance.now() })
    // no record waits any more, so only this notices that the registry is back
    if (this.#away) setTimeout(() => this.#answerMeanwhile(id, answer), this.#retryMs).unref()
    return answer
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
