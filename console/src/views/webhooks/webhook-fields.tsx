import { Alert, Fieldset, Group, Stack, TextInput } from '@mantine/core'
import { fieldError } from '../../api/client/errors.ts'
import { AddButton, RemoveButton, useLimitedList } from '../../ui/form/limited-list.tsx'
import {
  type HeaderDraft,
  headerErrors,
  headerPointer,
  isKept,
  lostValueError,
  MAX_HEADERS,
  newHeader,
  type WebhookDraft,
} from './draft.ts'

type FieldsProps = {
  webhook: WebhookDraft
  index: number
  isOnly: boolean
  /** Undefined removes it. */
  onChange: (webhook: WebhookDraft | undefined) => void
  error: unknown
}

export function WebhookFields({ webhook, index, isOnly, onChange, error }: FieldsProps) {
  const { headers } = webhook
  const list = useLimitedList({
    items: headers,
    most: MAX_HEADERS,
    make: newHeader,
    onChange: (headers: readonly HeaderDraft[]) => onChange({ ...webhook, headers }),
  })
  const fault = fieldError(error, `/webhooks/${index}/headers`)
  return (
    <Fieldset legend={`URL ${index + 1}`} variant="filled">
      <Stack gap="xs">
        <UrlField webhook={webhook} index={index} isOnly={isOnly} onChange={onChange} error={error} />
        {headers.map((header, at) => (
          <HeaderFields
            key={header.key}
            header={header}
            url={webhook.url}
            position={{ webhook: index, at }}
            onChange={(changed) => list.change(header.key, changed)}
            error={error}
          />
        ))}
        {fault && <Alert color="red">{fault}</Alert>}
        <AddButton list={list}>Add header</AddButton>
        {list.isTooMany && (
          <Alert color="yellow" role="alert" title="A webhook can have up to five headers">
            Remove one to add another. You can combine related values in one header, or put fixed values into
            the query of the URL.
          </Alert>
        )}
      </Stack>
    </Fieldset>
  )
}

function UrlField({ webhook, index, isOnly, onChange, error }: FieldsProps) {
  return (
    <Group align="flex-start" wrap="nowrap" gap="xs">
      <TextInput
        flex={1}
        type="url"
        inputMode="url"
        aria-label={`URL ${index + 1}`}
        placeholder="https://example.com/webhook"
        value={webhook.url}
        onChange={(event) => onChange({ ...webhook, url: event.currentTarget.value })}
        error={fieldError(error, `/webhooks/${index}/url`)}
        autoComplete="off"
      />
      {!isOnly && <RemoveButton label={`Remove URL ${index + 1}`} onClick={() => onChange(undefined)} />}
    </Group>
  )
}

type HeaderProps = {
  header: HeaderDraft
  url: string
  /** Zero-based. */
  position: { webhook: number; at: number }
  onChange: (header: HeaderDraft | undefined) => void
  error: unknown
}

function HeaderFields({ header, url, position: { webhook, at }, onChange, error }: HeaderProps) {
  const which = `header ${at + 1} of URL ${webhook + 1}`
  const errors = headerErrors(error, headerPointer(webhook, header))
  return (
    <Group align="flex-start" gap="xs" wrap="nowrap">
      <TextInput
        flex={2}
        miw={0}
        aria-label={`Name of ${which}`}
        placeholder="X-Team"
        value={header.name}
        onChange={(event) => onChange({ ...header, name: event.currentTarget.value })}
        error={errors.name}
        autoComplete="off"
      />
      <TextInput
        flex={3}
        miw={0}
        aria-label={`Value of ${which}`}
        placeholder={isKept(header, url) ? 'Stored value' : 'Value'}
        title={isKept(header, url) ? 'Leave empty to keep the stored value' : undefined}
        value={header.value}
        onChange={(event) => onChange({ ...header, value: event.currentTarget.value })}
        error={lostValueError(header, url) ?? errors.value}
        autoComplete="off"
      />
      <RemoveButton label={`Remove ${which}`} onClick={() => onChange(undefined)} />
    </Group>
  )
}
