import type { z } from 'zod'
import { type Fault, isObject } from '../faults.ts'
import { type Source, sourceShape, storedSource } from '../settings.ts'
import { createFields, type Facts, namedId, type Replaceable, replaceFields } from './resource.ts'

type GivenSource = z.infer<typeof sourceShape> & { id?: string | undefined }

/** In new settings; a stored source that has more can be read. */
const MOST_LABELS = 64

export const sources: Replaceable<GivenSource, Source> = {
  kind: 'source',
  path: 'sources',
  create: sourceShape.extend(createFields).meta({ id: 'NewSource' }),
  replace: sourceShape.extend(replaceFields).meta({ id: 'SourceReplacement' }),
  responseShape: storedSource.meta({ id: 'Source' }),
  all: (facts) => facts.sources,
  newId: namedId,

  // a replacement that names no write key keeps it: a new one would lock out every client that sends with the old
  build: (given, { stamp, made, old }) => ({
    ...given,
    ...stamp,
    writeKey: given.writeKey ?? old?.writeKey ?? made.writeKey,
  }),

  conflicts: {
    create: ['id_taken', 'write_key_taken'],
    replace: ['write_key_taken'],
    remove: ['source_in_use'],
  },

  faults: ({ writeKey, labels }, { facts, old }) => [
    ...writeKeyFaults(writeKey, { facts, old }),
    ...labelFaults(labels),
  ],

  // suppressions of it stay: they are the users' wish, and hold again when a source of this id is made again
  uses(id, facts) {
    const connected = [...facts.destinations.values()].filter(({ sourceIds }) => sourceIds.includes(id))
    const telling = (all: Facts['audiences']) => [...all.values()].filter(({ sourceId }) => sourceId === id)
    return [
      ...connected.map((user) => `destination ${user.id} is connected to it: disconnect that first`),
      ...telling(facts.audiences).map((user) => `audience ${user.id} is of it: remove that first`),
      ...telling(facts.traits).map((user) => `trait ${user.id} is of it: remove that first`),
    ].map((message): Fault => ({ pointer: '', code: 'source_in_use', message }))
  },
}

function writeKeyFaults(
  writeKey: unknown,
  { facts, old }: { facts: Pick<Facts, 'sourceByWriteKey'>; old: Source | undefined },
): Fault[] {
  const owner = typeof writeKey === 'string' ? facts.sourceByWriteKey(writeKey) : undefined
  if (!owner || owner.id === old?.id) return []
  const message = `source ${owner.id} has this write key: choose another, or leave it out to get one`
  return [{ pointer: '/writeKey', code: 'write_key_taken', message }]
}

function labelFaults(labels: unknown): Fault[] {
  const count = isObject(labels) ? Object.keys(labels).length : 0
  if (count <= MOST_LABELS) return []
  return [
    { pointer: '/labels', code: 'too_many', message: `at most ${MOST_LABELS} labels; there are ${count}` },
  ]
}
