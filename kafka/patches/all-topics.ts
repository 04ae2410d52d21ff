/**
 * Upstream: no issue; `parse` in src/protocol/requests/metadata/v0/response.js.
 * Without it: one partition without a leader, of any topic in the cluster, fails each request for the metadata of all
 * topics. New producers and admin clients send this request before they know their topics: sends stop, and no process
 * starts.
 * Until: test/kafka/all-topics.test.ts passes without it.
 */
import { internal } from './internals.ts'

/** `parse` throws if a topic or a partition has an error. */
type Response = { parse(metadata: unknown): Promise<unknown> }
type MetadataProtocol = (choice: {
  version: string
}) => (request: { topics: readonly string[] }) => { request: object; response: Response }

/** Metadata of named topics is parsed as before: these are the topics that this client uses. */
export function tolerateLeaderless(): void {
  const definition = internal<{ protocol: MetadataProtocol }>('protocol/requests/metadata')
  const { protocol } = definition
  definition.protocol = (choice) => (asked) => {
    const original = protocol(choice)(asked)
    if (asked.topics.length > 0) return original
    return { ...original, response: { ...original.response, parse: async (metadata) => metadata } }
  }
}
