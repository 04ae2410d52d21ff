/**
 * Upstream: no issue; `parse` in src/protocol/requests/metadata/v0/response.js.
 * Without it: any leaderless partition in the cluster fails requests for all topics' metadata. Producers and admin
 * clients begin with one: sends stop, and no process starts.
 * Until: test/kafka/all-topics.test.ts passes without it.
 */
import { internal } from './internals.ts'

/** `parse` throws if a topic or a partition has an error. */
type Response = { parse(metadata: unknown): Promise<unknown> }
type MetadataProtocol = (choice: {
  version: string
}) => (request: { topics: readonly string[] }) => { request: object; response: Response }

/** Metadata of named topics, which this client uses, is parsed as before. */
export function tolerateLeaderless(): void {
  const definition = internal<{ protocol: MetadataProtocol }>('protocol/requests/metadata')
  const { protocol } = definition
  definition.protocol = (choice) => (asked) => {
    const original = protocol(choice)(asked)
    if (asked.topics.length > 0) return original
    return { ...original, response: { ...original.response, parse: async (metadata) => metadata } }
  }
}
