import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Room, Storage } from '../../kafka/admin/storage.ts'
import type { Facts } from '../../settings/resources/resource.ts'
import { KINDS } from '../../settings/settings.ts'
import type { Unreadable } from '../../settings/state.ts'
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
        '`storage_full`: Kafka is short of space, and calls are refused. `setting_unreadable`: this process cannot read the record of a setting.',
      ),
    message: z.string(),
    kind: z.enum(KINDS).nullable().describe('Kind of the setting.'),
    id: z.string().nullable().describe('Id of the setting.'),
    isKept: z
      .boolean()
      .nullable()
      .describe(
        'Whether the previous version of the setting is still in use. False: the setting is ignored.',
      ),
    since: timeShape.describe('When this process first saw the problem; null if unknown.'),
  })
  .meta({ id: 'Warning' })

type Warning = z.infer<typeof warningShape>

export function warningsOf(shortage: Room | undefined, unreadable: Iterable<Unreadable>): Warning[] {
  return [...(shortage ? [ofShortage(shortage)] : []), ...[...unreadable].map(ofUnreadable)]
}

const MB = 1024 ** 2

function ofShortage({ of, free, reserve }: Room): Warning {
  const [where, todo] =
    of === 'disk'
      ? ["Kafka's disk is almost full", 'make room on it']
      : ["Sluice's topics have almost reached STORAGE_LIMIT", 'raise it, or shorten the retention of topics']
  const needed = `${Math.floor(free / MB)} MB are left, ${Math.ceil(reserve / MB)} MB are needed`
  const message = `${where}: ${needed}. Calls are refused (503) until there is space again: ${todo}.`
  return { code: 'storage_full', message, kind: null, id: null, isKept: null, since: null }
}

function ofUnreadable({ kind, id, reason, isKept, since }: Unreadable): Warning {
  const goingOn = isKept ? 'Sluice uses its previous version' : 'Sluice ignores it'
  const message = `The settings of ${kind} ${id} cannot be read: ${reason}. ${goingOn}. Save it again, or remove it.`
  return { code: 'setting_unreadable', message, kind, id, isKept, since: isoTime(since) }
}

export function warningRoutes(api: FastifyInstance, { settings, storage }: WarningParts): void {
  addPath(api, '/warnings', {
    GET: operation({
      summary: 'List what needs attention now',
      responses: {
        200: {
          description: 'Current warnings; normally none.',
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
