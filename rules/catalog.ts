/**
 * Each shape works for every event and truncates user input to the service's limits (docs/guides/rules.md). Tests check
 * them.
 */
export type CatalogEntry = {
  id: string
  title: string
  /** Where the service documents what it accepts. */
  documentation: string
  shape: { readonly [name: string]: unknown }
}

const TITLE = '{{event | default: name | default: type | truncate: 150}}'
const USER = '{{userId | default: anonymousId | default: "nobody" | truncate: 150}}'

const slack: CatalogEntry = {
  id: 'slack',
  title: 'Slack',
  documentation: 'https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks',
  shape: {
    text: '{{event | default: name | default: type | truncate: 150 | escape}} by {{userId | default: anonymousId | default: "nobody" | truncate: 150 | escape}}',
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: TITLE } },
      {
        type: 'section',
        text: {
          type: 'mrkdwn',
          text: '*User* {{userId | default: anonymousId | default: "nobody" | truncate: 150 | escape}}\n*Source* {{sourceId}}\n*Time* {{timestamp}}',
        },
      },
    ],
  },
}

/** `properties.text`: see docs/guides/notices.md. */
const slackNotices: CatalogEntry = {
  id: 'slack-notices',
  title: 'Slack (notices)',
  documentation: slack.documentation,
  shape: {
    text: '{{properties.text | default: event | default: name | default: type | truncate: 1000 | escape}}',
  },
}

const teams: CatalogEntry = {
  id: 'teams',
  title: 'Microsoft Teams',
  documentation:
    'https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using',
  shape: {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [
            { type: 'TextBlock', text: TITLE, size: 'Medium', weight: 'Bolder', wrap: true },
            {
              type: 'FactSet',
              facts: [
                { title: 'User', value: USER },
                { title: 'Source', value: '{{sourceId}}' },
                { title: 'Time', value: '{{timestamp}}' },
              ],
            },
          ],
        },
      },
    ],
  },
}

const discord: CatalogEntry = {
  id: 'discord',
  title: 'Discord',
  documentation: 'https://docs.discord.com/developers/resources/webhook#execute-webhook',
  shape: {
    embeds: [
      {
        title: TITLE,
        timestamp: '{{timestamp}}',
        fields: [
          { name: 'User', value: USER, inline: true },
          { name: 'Source', value: '{{sourceId}}', inline: true },
        ],
      },
    ],
    // user input must not notify anyone
    allowed_mentions: { parse: [] },
  },
}

const pagerduty: CatalogEntry = {
  id: 'pagerduty',
  title: 'PagerDuty',
  documentation: 'https://developer.pagerduty.com/docs/events-api-v2/trigger-events/',
  shape: {
    routing_key: 'YOUR_INTEGRATION_KEY',
    event_action: 'trigger',
    dedup_key: '{{messageId}}',
    payload: {
      summary: `${TITLE} by ${USER}`,
      source: '{{sourceId}}',
      severity: 'warning',
      timestamp: '{{timestamp}}',
      class: '{{type}}',
      custom_details: { properties: '{{properties}}', traits: '{{traits}}' },
    },
  },
}

const cloudevents: CatalogEntry = {
  id: 'cloudevents',
  title: 'CloudEvents 1.0',
  documentation: 'https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md',
  shape: {
    specversion: '1.0',
    id: '{{messageId}}',
    source: '/sources/{{sourceId}}',
    type: 'sluice.{{type}}',
    subject: '{{userId | default: anonymousId | default: "nobody"}}',
    time: '{{timestamp}}',
    datacontenttype: 'application/json',
    data: {
      event: '{{event}}',
      name: '{{name}}',
      groupId: '{{groupId}}',
      previousId: '{{previousId}}',
      properties: '{{properties}}',
      traits: '{{traits}}',
      context: '{{context}}',
    },
  },
}

export const CATALOG: readonly CatalogEntry[] = [slack, slackNotices, teams, discord, pagerduty, cloudevents]
