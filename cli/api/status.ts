import { z } from 'zod'
import { type Api, parseBody, refused, request } from './client.ts'

const settingShape = z.looseObject({ kind: z.string(), id: z.string(), isKept: z.boolean() })
const problemShape = z.looseObject({
  code: z.string(),
  severity: z.string(),
  message: z.string(),
  action: z.string(),
  since: z.string().nullable(),
  page: z.string().nullable(),
  runbook: z.string(),
  setting: settingShape.nullable(),
})
const shape = z.looseObject({
  state: z.enum(['ok', 'warning', 'error']),
  problems: z.array(problemShape),
  at: z.string().nullable(),
})

export type SystemProblem = z.infer<typeof problemShape>

const what = { path: 'status' }

/** @throws CliError */
export const readStatus = (api: Api) => request(api, what, shape)

/** `isKept`: control still uses the previous version. Otherwise lists omit the setting. */
export type UnreadableSetting = { kind: string; id: string; isKept: boolean; message: string }

/** The settings that control cannot read. @throws CliError */
export async function unreadableSettings(api: Api): Promise<UnreadableSetting[]> {
  const response = await api(what)
  // earlier versions of control lack this path
  if (response.status === 404) return []
  if (response.status >= 300) throw refused(response)
  return parseBody(response, what, shape).problems.flatMap(({ setting, message }) =>
    setting ? [{ kind: setting.kind, id: setting.id, isKept: setting.isKept, message }] : [],
  )
}
