import { stringify } from 'yaml'
import { type SchemaName, schemaText } from './codec.ts'
import { ATTEMPTS, DEAD, EVENTS, REJECTED, topics } from './topics.ts'

/** A topic that others may read. The rest are between the processes, and change as these do. */
type Open = {
  id: string
  topic: string
  title: string
  summary: string
  /** What the record's key is. */
  key: string
  /** Headers of each record, by name; their values are text in UTF-8. */
  headers: Record<string, string>
}

const OPEN: readonly Open[] = [
  {
    id: 'events',
    topic: EVENTS,
    title: 'Accepted calls',
    summary:
      'One record for each accepted call, deletion request and change of an audience or trait; a call that was sent again is there again.',
    key: 'sourceId/userId; without a userId sourceId/anonymousId.',
    headers: { messageId: 'The same as in the value: duplicates are found without decoding it.' },
  },
  {
    id: 'rejected',
    topic: REJECTED,
    title: 'Rejected calls',
    summary: 'One record for each call, or whole batch, that was read and refused.',
    key: 'sourceId',
    headers: {},
  },
  {
    id: 'attempts',
    topic: ATTEMPTS,
    title: 'Attempts',
    summary: 'One record for each POST to a webhook, and for each that was put off or cancelled.',
    key: 'destinationId',
    headers: {},
  },
  {
    id: 'dead',
    topic: DEAD,
    title: 'Dead letters',
    summary: 'One record for each delivery that was given up.',
    key: 'destinationId/userId; without a userId destinationId/anonymousId.',
    headers: { reason: 'The same as deadReason in the value.' },
  },
]

const ABOUT = `The Kafka topics of Sluice that others may read: docs/reference/topics.md says how, and what is promised.
The names are without TOPIC_PREFIX. Values are Avro behind a zero byte and the schema's id in 4 bytes (Confluent's wire format);
the subject in the registry is the topic's name with -value behind it. Keys and headers are text in UTF-8.`

const BINDING = { bindingVersion: '0.5.0' }

/** The topics as AsyncAPI 3.0, made of the table of topics and the Avro schemas. */
export function describeTopics() {
  return {
    asyncapi: '3.0.0',
    info: { title: 'Sluice topics', version: '1', description: ABOUT, license: LICENSE },
    defaultContentType: 'avro/binary',
    servers: { local: LOCAL },
    channels: each((it) => [it.id, channel(it)]),
    operations: each((it) => [
      `write-${it.id}`,
      { action: 'send', channel: { $ref: `#/channels/${it.id}` }, summary: `Sluice writes ${it.topic}.` },
    ]),
    components: { messages: each((it) => [it.id, message(it)]) },
  }
}

/** The text of `docs/asyncapi.yaml`. */
export const asyncapiText = () =>
  `# Written by \`npm run schemas\` from schemas/: change that, not this.\n${stringify(describeTopics(), { lineWidth: 0, aliasDuplicateObjects: false })}`

const LICENSE = { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' }

const LOCAL = {
  host: '127.0.0.1:9092',
  protocol: 'kafka',
  description: 'As `npm start` has it unless its ports are taken; it prints both addresses.',
  bindings: {
    kafka: {
      schemaRegistryUrl: 'http://127.0.0.1:8085/apis/ccompat/v7',
      schemaRegistryVendor: 'confluent',
      ...BINDING,
    },
  },
}

const each = <T>(entry: (open: Open) => [string, T]): Record<string, T> => Object.fromEntries(OPEN.map(entry))

function channel({ id, topic, title, summary }: Open) {
  return {
    address: topic,
    title,
    summary,
    messages: { [id]: { $ref: `#/components/messages/${id}` } },
    bindings: {
      kafka: {
        topic,
        topicConfiguration: { 'cleanup.policy': ['delete'], 'retention.ms': rowOf(topic).kept },
        ...BINDING,
      },
    },
  }
}

function message({ topic, title, summary, key, headers }: Open) {
  const schema = JSON.parse(schemaText(rowOf(topic).schema))
  return {
    name: schema.name,
    title,
    summary,
    headers: {
      type: 'object',
      required: Object.keys(headers),
      properties: Object.fromEntries(
        Object.entries(headers).map(([name, description]) => [name, { type: 'string', description }]),
      ),
    },
    payload: { schemaFormat: 'application/vnd.apache.avro+json;version=1.9.0', schema },
    bindings: {
      kafka: {
        key: { type: 'string', description: key },
        schemaIdLocation: 'payload',
        schemaIdPayloadEncoding: 'confluent',
        schemaLookupStrategy: 'TopicNameStrategy',
        ...BINDING,
      },
    },
  }
}

/** A topic's row in the table, with what it must have here: Avro values, deleted by age. */
function rowOf(topic: string): { kept: number; schema: SchemaName } {
  const row = topics({ ladder: [], dedupWindowMs: 0, windowMs: 0 }).find(({ name }) => name === topic)
  if (typeof row?.kept !== 'number' || !row.schema) throw new Error(`${topic} is not for others to read`)
  return { kept: row.kept, schema: row.schema }
}
