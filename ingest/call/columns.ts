import type { Code } from '../codes.ts'
import { isObject, type JsonObject } from './json.ts'

/** The parts of a call that are objects, null where there is none. */
export type Columns = {
  properties: JsonObject | null
  traits: JsonObject | null
  context: JsonObject | null
  integrations: JsonObject | null
}

/** A batch's own, which each of its calls gets; null where there is nothing. */
export type OfBatch = { context: unknown; integrations: unknown }

/**
 * Integrations are those at the top level, else those in the context; a batch's own are the same two, under the call's.
 * @returns a code when one of the four is not what it must be.
 */
export function readColumns(call: JsonObject, shared: OfBatch): Columns | Code {
  const { properties = null, traits = null } = call
  const context = under(shared.context, call.context ?? null)
  if (properties !== null && !isObject(properties)) return 'properties_not_object'
  if (traits !== null && !isObject(traits)) return 'traits_not_object'
  if (context !== null && !isObject(context)) return 'context_not_object'
  const integrations = under(shared.integrations, withAll(call.integrations ?? ownIntegrations(call.context)))
  if (integrations !== null && !isObject(integrations)) return 'integrations_not_object'
  if (integrations && !allIsBoolean(integrations)) return 'integrations_all_not_boolean'
  return { properties, traits, context, integrations }
}

export const ownIntegrations = (context: unknown): unknown =>
  isObject(context) ? (context.integrations ?? null) : null

/** Key by key at the first level, the call's own win. What is not an object is left for the caller to refuse. */
function under(shared: unknown, own: unknown): unknown {
  if (shared === null) return own
  if (own === null) return shared
  return isObject(shared) && isObject(own) ? { ...shared, ...own } : own
}

function allIsBoolean({ All, all }: JsonObject): boolean {
  const value = All ?? all ?? true
  return typeof value === 'boolean'
}

/** One version of the Go library writes `all`; renamed before it is merged, it is the same key there. */
export function withAll(integrations: unknown): unknown {
  if (!isObject(integrations) || typeof integrations.all !== 'boolean') return integrations
  const { all, All, ...others } = integrations
  return All === undefined || All === null ? { All: all, ...others } : integrations
}
