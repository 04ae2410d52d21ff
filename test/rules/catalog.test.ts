import { Ajv, type SchemaObject } from 'ajv'
import { describe, expect, test } from 'vitest'
import { render } from '../../delivery/render.ts'
import { CATALOG } from '../../rules/catalog.ts'
import { compileRules } from '../../rules/compile.ts'
import { rulesFaults } from '../../rules/faults.ts'
import { rulesShape } from '../../rules/rules.ts'
import { anEvent } from '../helpers/events.ts'

/**
 * From the services' documents (`documentation` in the catalog) and schemas: PagerDuty/api-schema,
 * discord/discord-api-spec, cloudevents/spec and microsoft/AdaptiveCards 1.5.0. Slack has no schema: docs.slack.dev.
 */
const text = (maxLength: number): SchemaObject => ({ type: 'string', minLength: 1, maxLength })
const time: SchemaObject = {
  type: 'string',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$',
}
const object = (properties: Record<string, object>, required = Object.keys(properties)): SchemaObject => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
const list = (items: SchemaObject, maxItems: number): SchemaObject => ({
  type: 'array',
  items,
  minItems: 1,
  maxItems,
})

const slackText = (type: string, maxLength: number) =>
  object({ type: { const: type }, text: text(maxLength) })

const accepted: Record<string, SchemaObject> = {
  slack: object({
    text: text(40_000),
    blocks: list(
      {
        anyOf: [
          object({ type: { const: 'header' }, text: slackText('plain_text', 150) }),
          object({ type: { const: 'section' }, text: slackText('mrkdwn', 3_000) }),
        ],
      },
      50,
    ),
  }),
  'slack-notices': object({ text: text(40_000) }),
  teams: object({
    type: { const: 'message' },
    attachments: list(
      object({
        contentType: { const: 'application/vnd.microsoft.card.adaptive' },
        contentUrl: { type: 'null' },
        content: object({
          $schema: { const: 'http://adaptivecards.io/schemas/adaptive-card.json' },
          type: { const: 'AdaptiveCard' },
          version: { enum: ['1.2', '1.3', '1.4', '1.5'] },
          body: list(
            {
              anyOf: [
                object({
                  type: { const: 'TextBlock' },
                  text: text(28_000),
                  size: { enum: ['Small', 'Default', 'Medium', 'Large', 'ExtraLarge'] },
                  weight: { enum: ['Lighter', 'Default', 'Bolder'] },
                  wrap: { type: 'boolean' },
                }),
                object({
                  type: { const: 'FactSet' },
                  facts: list(object({ title: text(100), value: text(28_000) }), 20),
                }),
              ],
            },
            20,
          ),
        }),
      }),
      1,
    ),
  }),
  discord: object({
    embeds: list(
      object({
        title: text(256),
        timestamp: time,
        fields: list(object({ name: text(256), value: text(1_024), inline: { type: 'boolean' } }), 25),
      }),
      10,
    ),
    allowed_mentions: object({ parse: { type: 'array', maxItems: 0 } }),
  }),
  pagerduty: object({
    routing_key: text(32),
    event_action: { enum: ['trigger', 'acknowledge', 'resolve'] },
    dedup_key: text(255),
    payload: object({
      summary: text(1_024),
      source: text(1_000),
      severity: { enum: ['critical', 'warning', 'error', 'info'] },
      timestamp: time,
      class: text(100),
      custom_details: { type: 'object' },
    }),
  }),
  cloudevents: object(
    {
      specversion: { const: '1.0' },
      id: text(100),
      source: { ...text(100), pattern: '^/sources/[a-z0-9_-]+$' },
      type: text(100),
      subject: text(100_000),
      time,
      datacontenttype: { const: 'application/json' },
      data: { type: 'object' },
    },
    ['specversion', 'id', 'source', 'type'],
  ),
}

const long = 'x<@&"\n\u{1f600}'.repeat(3_000)
const events = [
  anEvent({ event: 'Order Paid', properties: '{"total":12.5}', context: '{"ip":"203.0.113.9"}' }),
  anEvent({ event: long, userId: long, properties: JSON.stringify({ long }) }),
  anEvent({ event: 'Order Paid', properties: JSON.stringify({ text: long }) }),
  anEvent({ event: 'Order Paid', properties: '{"text":{"de":"Bezahlt"}}' }),
  anEvent({ type: 'page', userId: null, anonymousId: 'a1', name: 'Home', category: 'Shop' }),
  anEvent({ type: 'screen' }),
  anEvent({ type: 'page', name: '', category: '' }),
  anEvent({ type: 'identify', event: '', name: '' }),
  anEvent({ type: 'identify', traits: '{"plan":"pro"}' }),
  anEvent({ type: 'group', groupId: 'g1', userId: null, anonymousId: 'a1' }),
  anEvent({ type: 'alias', previousId: 'a1' }),
  anEvent({ userId: null, event: null }),
]

describe.each(CATALOG)('the shape for $title', ({ id, shape }) => {
  const rules = rulesShape.parse({ shape })
  const matches = new Ajv().compile(accepted[id] ?? false)

  test('can be saved', () => {
    expect(rulesFaults(rules, [])).toEqual([])
  })

  test.each(events)('turns event $# into what the service accepts', (event) => {
    const result = compileRules(rules, Buffer.alloc(32), render).run(event)
    const body: unknown = JSON.parse(result.outcome === 'sent' ? result.body : '""')
    expect(matches(body), JSON.stringify(matches.errors)).toBe(true)
  })
})

test("a Teams message stays below Teams' limit of 28 KB, and a name cannot notify a Slack channel", () => {
  const bodyOf = (id: string, event = anEvent({ event: long, userId: long })) => {
    const rules = rulesShape.parse({ shape: CATALOG.find((entry) => entry.id === id)?.shape })
    const result = compileRules(rules, Buffer.alloc(32), render).run(event)
    return result.outcome === 'sent' ? result.body : ''
  }
  expect(Buffer.byteLength(bodyOf('teams'))).toBeLessThan(28 * 1024)
  const { text: message, blocks } = JSON.parse(
    bodyOf('slack', anEvent({ event: '<!channel>', userId: '<!here>' })),
  )
  const text = '<!channel>'
  const notice = bodyOf('slack-notices', anEvent({ properties: JSON.stringify({ text }) }))
  expect([message, blocks[1].text.text, JSON.parse(notice).text].join()).not.toMatch(/<!/)
})
