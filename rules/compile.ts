import type { Event } from '../schemas/event.ts'
import { type Budget, type Call, callOf, MAX_BODY_BYTES, sharedBody } from './call.ts'
import { compileFilter, type Decide } from './filter.ts'
import { isWrong, parsePath } from './path.ts'
import { compileRedact, type RedactCall } from './redact.ts'
import type { Rules } from './rules.ts'
import { compileSample } from './sample.ts'
import { compileShape, type Write } from './shape.ts'

export type CompiledRules = {
  /** @param budget reduced by the run. */
  run: (event: Event, budget?: Budget) => RulesResult
  /** `userId` or `anonymousId` is redacted, so the delivery's key must not contain it. */
  changesUser: boolean
}

export type RulesResult =
  | { outcome: 'sent'; body: string; type: Event['type'] }
  /** `condition`: JSON pointer into the rules, to what did not hold. */
  | { outcome: 'filtered'; condition: string }
  | { outcome: 'sampled_out' }
  /** `body`: redacted but not shaped, for the dead letter. */
  | { outcome: 'failed'; code: FailCode; message: string; body: string }

const FAILURES = {
  invalid_rules:
    'this version cannot run the stored rules: save them again, and the API will say what is wrong',
  internal: 'a bug in Sluice stopped the rules on this event',
  too_costly: 'the rules take too long on this event: use shorter patterns or fewer placeholder filters',
  too_large: 'the body would be larger than 256 KB',
} as const
export type FailCode = keyof typeof FAILURES

/**
 * Deletions pass every filter and sample. They are redacted, but not shaped: receivers must recognize them.
 * @param hashKey for `as: hash`.
 * @param render makes the body without a shape.
 * @returns rules that never throw and always give the same result. Those that cannot be compiled fail every event.
 */
export function compileRules(rules: Rules, hashKey: Buffer, render: Render): CompiledRules {
  const redact = compileRedact(rules.redact ?? [], hashKey)
  const parts = redact && compileParts(rules, { redact, render })
  const changesUser = (rules.redact ?? []).some(({ path }) => namesUser(path))
  return {
    run: (event, budget) =>
      parts
        ? guarded(callOf(event, budget), parts)
        : failed('invalid_rules', redactedBody(event, { redact, render })),
    changesUser,
  }
}

/** An invalid path may be meant as the user's. */
function namesUser(text: string): boolean {
  const path = parsePath(text)
  return isWrong(path) || path.root === 'userId' || path.root === 'anonymousId'
}

/** `render` of delivery/render.ts, passed in because `delivery/` imports this room. */
export type Render = (event: Event) => string

type Parts = {
  decide: Decide | undefined
  isSampled: ((event: Event) => boolean) | undefined
  redact: RedactCall
  render: Render
  write: Write | undefined
}

function compileParts(
  { filter, sample, shape }: Rules,
  bodies: Pick<Parts, 'redact' | 'render'>,
): Parts | undefined {
  const decide = filter && compileFilter(filter)
  const write = shape === undefined ? undefined : compileShape(shape)
  if ((filter && !decide) || (shape !== undefined && !write)) return
  return { decide, isSampled: sample && compileSample(sample), write, ...bodies }
}

/** Only a bug throws here, and it must not stop the router. The error may quote the event. */
function guarded(call: Call, parts: Parts): RulesResult {
  try {
    return run(call, parts)
  } catch {
    return failed('internal', EMPTY_BODY)
  }
}

function run(call: Call, { decide, isSampled, redact, render, write }: Parts): RulesResult {
  const { event } = call
  const isDeletion = event.type === 'delete'
  if (!isDeletion) {
    const condition = decide?.(call)
    if (call.budget.work < 0) return failed('too_costly', bodyOf(redact(call), render))
    if (condition !== undefined) return { outcome: 'filtered', condition }
    if (isSampled?.(event) === false) return { outcome: 'sampled_out' }
  }
  const redacted = redact(call)
  const body = write && !isDeletion ? write(redacted) : rendered(redacted, { of: call, render })
  if (call.budget.work < 0) return failed('too_costly', bodyOf(redacted, render))
  if (body === undefined || call.budget.output < 0 || isTooLarge(body))
    return failed('too_large', bodyOf(redacted, render))
  return { outcome: 'sent', body, type: event.type }
}

const rendered = ({ event }: Call, { of, render }: { of: Call; render: Render }): string =>
  event === of.event ? sharedBody(event, render) : render(event)

const isTooLarge = (body: string) =>
  body.length > MAX_BODY_BYTES / 3 && Buffer.byteLength(body) > MAX_BODY_BYTES

const failed = (code: FailCode, body: string): RulesResult => ({
  outcome: 'failed',
  code,
  message: FAILURES[code],
  body,
})

/** For events that cannot be redacted. */
const EMPTY_BODY = '{}'

function bodyOf({ event }: Call, render: Render): string {
  const body = render(event)
  return isTooLarge(body) ? EMPTY_BODY : body
}

function redactedBody(
  event: Event,
  { redact, render }: { redact: RedactCall | undefined; render: Render },
): string {
  try {
    return redact ? bodyOf(redact(callOf(event)), render) : EMPTY_BODY
  } catch {
    return EMPTY_BODY
  }
}
