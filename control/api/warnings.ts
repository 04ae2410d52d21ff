import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Room, Storage } from '../../kafka/admin/storage.ts'
import type { Unreadable } from '../../settings/follow.ts'
import type { Facts } from '../../settings/resources/resource.ts'
import { KINDS } from '../../settings/settings.ts'
import { addPath, operation } from './operation.ts'
import { isoTime, timeShape } from './response.ts'

export type WarningParts = {
  settings: Pick<Facts, 'unreadable'>
  storage: Pick<Storage, 'shortage'>
}

const warningShape = z
  .strictObject({
    code: z
      .enum(['storage_full', 'setting_unreadable'])
      .describe(
        '`storage_full`: Kafka has too little room, and calls are refused. `setting_unreadable`: the record of a setting cannot be read, by this process at least.',
      ),
    message: z.string(),
    kind: z.enum(KINDS).nullable().describe('Of the setting.'),
    id: z.string().nullable().describe('Of the setting.'),
    isKept: z
      .boolean()
      .nullable()
      .describe('Of the setting: whether what it was before is gone by. False: nothing is known of it.'),
    since: timeShape.describe('When this process has seen it first; null: not known.'),
  })
  .meta({ id: 'Warning' })

type Warning = z.infer<typeof warningShape>

/** What stands in the way of Sluice's work until somebody does something about it. */
export function warningsOf(shortage: Room | undefined, unreadable: Iterable<Unreadable>): Warning[] {
  return [...(shortage ? [ofShortage(shortage)] : []), ...[...unreadable].map(ofUnreadable)]
}

const MB = 1024 ** 2

function ofShortage({ of, free, reserve }: Room): Warning {
  const [where, todo] =
    of === 'disk'
      ? ["Kafka's disk is almost full", 'make room on it']
      : ["Sluice's topics have almost reached STORAGE_LIMIT", 'raise it, or keep topics for a shorter time']
  const needed = `${Math.floor(free / MB)} MB are left, ${Math.ceil(reserve / MB)} MB are needed`
  const message = `${where}: ${needed}. Calls are refused (503) until there is room again: ${todo}.`
  return { code: 'storage_full', message, kind: null, id: null, isKept: null, since: null }
}

function ofUnreadable({ kind, id, reason, isKept, since }: Unreadable): Warning {
  const goingOn = isKept ? 'Sluice goes by what it was before' : 'Sluice knows nothing of it'
  const message = `The settings of ${kind} ${id} cannot be read: ${reason}. ${goingOn}. Save it anew, or delete it.`
  return { code: 'setting_unreadable', message, kind, id, isKept, since: isoTime(since) }
}

/** `/warnings`: what needs somebody now; the console shows it above every view. */
export function warningRoutes(api: FastifyInstance, { settings, storage }: WarningParts): void {
  addPath(api, '/warnings', {
    GET: operation({
      summary: 'What needs somebody now',
      responses: {
        200: {
          description: 'Nothing, in ordinary times.',
          body: z.strictObject({ items: z.array(warningShape) }),
        },
      },
      handle: () => ({
        status: 200,
        body: { items: warningsOf(storage.shortage(), settings.unreadable.values()) },
      }),
    }),
  })
}
