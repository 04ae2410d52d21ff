import { z } from 'zod'
import { render } from '../../delivery/render.ts'
import type { Posting } from '../../delivery/request.ts'
import { compiledOf, hashKeyOf } from '../../delivery/routing/compiled-rules.ts'
import { deliveryId } from '../../delivery/routing/routing.ts'
import { compileRules, type RulesResult } from '../../rules/compile.ts'
import type { Event } from '../../schemas/event.ts'
import type { Destination } from '../../settings/settings.ts'

export const testedRulesShape = z
  .strictObject({
    outcome: z.enum(['sent', 'filtered', 'sampled_out', 'failed']),
    condition: z
      .string()
      .nullable()
      .describe('With `filtered`: JSON pointer into the rules, to the deciding condition.'),
    message: z.string().nullable().describe('With `failed`: why the rules failed.'),
  })
  .meta({ id: 'TestedRules' })

type Tested = { posting: Posting | undefined; rules: z.infer<typeof testedRulesShape> | null }

/** A test is for the receiver, so it ignores filter and sample. */
export function ruledPosting(event: Event, destination: Destination): Tested {
  const { id } = destination
  const compiled = compiledOf(destination)
  if (!compiled) return { posting: postingOf(event, render(event), id), rules: null }
  const result = compiled.run(event)
  const { outcome } = result
  const rules = { outcome, condition: null, message: null }
  if (outcome === 'sent') return { posting: postingOf(event, result.body, id), rules }
  if (outcome === 'failed') return { posting: undefined, rules: { ...rules, message: result.message } }
  const sent = withoutFilter(event, destination)
  const body = sent?.outcome === 'sent' ? sent.body : undefined
  return {
    posting: body === undefined ? undefined : postingOf(event, body, id),
    rules: { ...rules, ...(outcome === 'filtered' && { condition: result.condition }) },
  }
}

function withoutFilter(event: Event, { rules, hashKey }: Destination): RulesResult | undefined {
  if (!rules) return undefined
  const { filter: _, sample: __, ...rest } = rules
  return compileRules(rest, hashKeyOf(hashKey), render).run(event)
}

const postingOf = (event: Event, body: string, destinationId: string): Posting => ({
  deliveryId: deliveryId(destinationId, event),
  messageId: event.messageId,
  body,
  replay: false,
})
