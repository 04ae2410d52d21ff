import type { z } from 'zod'
import { type Fault, isObject } from '../faults.ts'
import { type Source, sourceShape, storedSource } from '../settings.ts'
import { createFields, type Facts, namedId, type Replaceable, replaceFields } from './resource.ts'

type GivenSource = z.infer<typeof sourceShape> & { id?: string | undefined }

/** For new settings; a stored source with more can still be read. */
const MAX_LABELS = 64

export const sources: Replaceable<GivenSource, Source> = {
  kind: 'source',
  path: 'sources',
  create: sourceShape.extend(createFields).meta({ id: 'NewSource' }),
  replace: sourceShape.extend(replaceFields).meta({ id: 'SourceReplacement' }),
  responseShape: storedSource.meta({ id: 'Source' }),
  all: (facts) => facts.sources,
  newId: namedId,

  // a replacement without a write key keeps the old one: a new key would lock out every client
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

  // suppressions stay: they are the users' wish, and apply again if a source with this id is created again
  uses(id, facts) {
    const connected = [...facts.destinations.values()].filter(({ sourceIds }) => sourceIds.includes(id))
    const belonging = (all: Facts['audiences']) => [...all.values()].filter(({ sourceId }) => sourceId === id)
    return [
      ...connected.map((user) => `destination ${user.id} is connected to it: disconnect it first`),
      ...belonging(facts.audiences).map((user) => `audience ${user.id} belongs to it: remove it first`),
      ...belonging(facts.traits).map((user) => `trait ${user.id} belongs to it: remove it first`),
    ].map((message): Fault => ({ pointer: '', code: 'source_in_use', message }))
  },
}

function writeKeyFaults(
  writeKey: unknown,
  { facts, old }: { facts: Pick<Facts, 'sourceByWriteKey'>; old: Source | undefined },
): Fault[] {
  const owner = typeof writeKey === 'string' ? facts.sourceByWriteKey(writeKey) : undefined
  if (!owner || owner.id === old?.id) return []
  const message = `source ${owner.id} has this write key: choose another, or leave it out to get a new one`
  return [{ pointer: '/writeKey', code: 'write_key_taken', message }]
}

function labelFaults(labels: unknown): Fault[] {
  const count = isObject(labels) ? Object.keys(labels).length : 0
  if (count <= MAX_LABELS) return []
  return [
    { pointer: '/labels', code: 'too_many', message: `at most ${MAX_LABELS} labels; there are ${count}` },
  ]
}
