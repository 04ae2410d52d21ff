import { Fieldset, NativeSelect, Stack, Text } from '@mantine/core'
import { faultsWithin } from '../../api/client/errors.ts'
import type { FieldsProps } from '../../ui/form/draft.tsx'
import { JsonArea } from '../../ui/form/json-area.tsx'
import entries from './catalog.json'
import type { RulesDraft } from './draft.ts'

/** `text`: JSON. */
type CatalogBody = { id: string; label: string; text: string }

const CATALOG: readonly CatalogBody[] = entries.map(({ id, title, shape }) => ({
  id,
  label: title,
  text: JSON.stringify(shape, null, 2),
}))

const EVENT = 'event'
const OWN = 'own'
/** Where custom JSON starts. */
const EXAMPLE = JSON.stringify({ text: '{{event}} of {{userId}}', properties: '{{properties}}' }, null, 2)

export function BodyField({ draft: { body }, change, error }: FieldsProps<RulesDraft>) {
  const chosen = body === undefined ? EVENT : (CATALOG.find(({ text }) => text === body)?.id ?? OWN)
  function choose(id: string) {
    if (id === EVENT) change({ body: undefined })
    else change({ body: CATALOG.find((each) => each.id === id)?.text ?? body ?? EXAMPLE })
  }
  return (
    <Fieldset legend="Body" variant="filled">
      <Stack gap="sm">
        <NativeSelect
          label="Send"
          value={chosen}
          onChange={(event) => choose(event.currentTarget.value)}
          data={[
            { value: EVENT, label: 'The event' },
            ...CATALOG.map(({ id, label }) => ({ value: id, label })),
            { value: OWN, label: 'Custom JSON' },
          ]}
        />
        {body !== undefined && (
          <>
            <JsonArea
              label="Body as JSON"
              description="Placeholders such as {{properties.total}} become values of the event. A string that is only a placeholder keeps the value’s type."
              rows={10}
              value={body}
              onChange={(event) => change({ body: event.currentTarget.value })}
              error={faultsWithin(error, '/rules/shape')[0]?.message}
            />
            <Text size="xs" c="dimmed">
              Add filters after a |, such as {'{{event | upper}}'} or {'{{userId | default: "nobody"}}'}.
            </Text>
          </>
        )}
      </Stack>
    </Fieldset>
  )
}
