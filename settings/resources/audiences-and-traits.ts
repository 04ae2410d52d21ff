import type { z } from 'zod'
import type { Fault, Members } from '../faults.ts'
import { type Computation, computationShape, storedComputation } from '../settings.ts'
import {
  createFields,
  type Facts,
  ignored,
  namedId,
  type Replaceable,
  replaceFields,
  unknownSource,
} from './resource.ts'

type Given = z.infer<typeof computationShape> & { id?: string | undefined }
type Class = 'audience' | 'trait'

const serverFields = { key: ignored, createdAt: ignored, lastSyncAt: ignored }

export const audiences = resource('audience', (facts) => facts.audiences)
export const traits = resource('trait', (facts) => facts.traits)

function resource(kind: Class, all: (facts: Facts) => Facts['audiences']): Replaceable<Given, Computation> {
  const name = kind === 'audience' ? 'Audience' : 'Trait'
  return {
    kind,
    path: `${kind}s`,
    create: computationShape.extend(createFields).meta({ id: `New${name}` }),
    replace: computationShape
      .extend({ ...replaceFields, ...serverFields })
      .meta({ id: `${name}Replacement` }),
    responseShape: storedComputation.meta({ id: name }),
    all,
    newId: namedId,

    // receivers know it by its key, so a new name keeps the key
    build: ({ name, sourceId }, { stamp, old }) => ({
      name,
      sourceId,
      key: old?.key ?? keyOf(name),
      createdAt: old?.createdAt ?? stamp.updatedAt,
      lastSyncAt: old?.lastSyncAt ?? null,
      ...stamp,
    }),

    conflicts: { create: ['id_taken', 'key_taken'], replace: [], remove: [] },

    faults(body, { facts, old }) {
      if (old) return sourceFixed(body, old)
      return [
        ...unknownSource(body.sourceId, { facts, path: ['sourceId'] }),
        ...noticesSource(body, facts),
        ...keyFaults(body, facts),
      ]
    },

    uses: () => [],
  }
}

function noticesSource({ sourceId }: Members, { sources }: Pick<Facts, 'sources'>): Fault[] {
  if (typeof sourceId !== 'string' || sources.get(sourceId)?.kind !== 'notices') return []
  const message = 'a source of notices has only the calls of Sluice itself: choose another source'
  return [{ pointer: '/sourceId', code: 'notices_only', message }]
}

/** Receivers that learned about users from one source get changes from it. */
function sourceFixed({ sourceId }: Members, old: Computation): Fault[] {
  if (typeof sourceId !== 'string' || sourceId === old.sourceId) return []
  const message = `the source cannot change (it is ${old.sourceId}): create another and remove this one`
  return [{ pointer: '/sourceId', code: 'source_fixed', message }]
}

function keyFaults({ name, sourceId }: Members, facts: Facts): Fault[] {
  if (typeof name !== 'string' || name.trim() === '') return []
  const key = keyOf(name)
  if (key === '') {
    const message = 'the name needs at least one letter or digit: its key in identify calls is made of them'
    return [{ pointer: '/name', code: 'no_key', message }]
  }
  const others = [...facts.audiences.values(), ...facts.traits.values()]
  const owner = others.find((other) => other.sourceId === sourceId && other.key === key)
  if (!owner) return []
  const message = `${owner.id} already has the key ${key} at this source: choose another name`
  return [{ pointer: '/name', code: 'key_taken', message }]
}

/**
 * Its key in identify calls (docs/guides/audiences.md, "Sync an audience"): `HTTPUsers2` becomes `http_users2`; `''`
 * without letters or digits. Not a library: those take the vowel signs of Indian scripts for gaps.
 */
export function keyOf(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1_$2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '_')
    .replace(/^_+|_+$/g, '')
    .toLowerCase()
}
