import { Alert, Button, Fieldset, Group, Stack, TextInput } from '@mantine/core'
import { useRef, useState } from 'react'
import { faultAt } from '../../api/errors.ts'
import { Icon } from '../../ui/layout/icon.tsx'
import {
  type HeaderDraft,
  headerPointer,
  isKept,
  lostSaid,
  MOST_HEADERS,
  newHeader,
  type WebhookDraft,
} from './draft.ts'

type FieldsParts = {
  webhook: WebhookDraft
  index: number
  isOnly: boolean
  /** Undefined: it is removed. */
  onChange: (webhook: WebhookDraft | undefined) => void
  error: unknown
}

export function WebhookFields({ webhook, index, isOnly, onChange, error }: FieldsParts) {
  const [isTooMany, setTooMany] = useState(false)
  const adding = useRef<HTMLButtonElement>(null)
  const { headers } = webhook
  const place = `/webhooks/${index}`
  function add() {
    if (headers.length >= MOST_HEADERS) setTooMany(true)
    else onChange({ ...webhook, headers: [...headers, newHeader()] })
  }
  function change(key: number, changed: HeaderDraft | undefined) {
    if (!changed) {
      setTooMany(false)
      // what had the focus is gone
      adding.current?.focus()
    }
    onChange({ ...webhook, headers: headers.flatMap((each) => (each.key === key ? (changed ?? []) : each)) })
  }
  const fault = faultAt(error, `${place}/headers`)
  return (
    <Fieldset legend={`URL ${index + 1}`} variant="filled">
      <Stack gap="xs">
        <Group align="flex-start" wrap="nowrap" gap="xs">
          <TextInput
            flex={1}
            type="url"
            inputMode="url"
            aria-label={`URL ${index + 1}`}
            placeholder="https://example.com/webhook"
            value={webhook.url}
            onChange={(event) => onChange({ ...webhook, url: event.currentTarget.value })}
            error={faultAt(error, `${place}/url`)}
            autoComplete="off"
          />
          {!isOnly && (
            <Button
              variant="subtle"
              color="gray"
              px="xs"
              onClick={() => onChange(undefined)}
              aria-label={`Remove URL ${index + 1}`}
            >
              <Icon of="cross" size={16} />
            </Button>
          )}
        </Group>
        {headers.map((header, at) => (
          <HeaderFields
            key={header.key}
            header={header}
            url={webhook.url}
            place={{ webhook: index, at }}
            onChange={(changed) => change(header.key, changed)}
            error={error}
          />
        ))}
        {fault && <Alert color="red">{fault}</Alert>}
        <div>
          <Button
            ref={adding}
            variant="subtle"
            size="compact-sm"
            leftSection={<Icon of="plus" size={14} />}
            onClick={add}
          >
            Add a header
          </Button>
        </div>
        {isTooMany && (
          <Alert color="yellow" role="alert" title="A URL has at most five headers of its own">
            Remove one to add another. Values that belong together can go into one header, and fixed values
            into the URL’s query.
          </Alert>
        )}
      </Stack>
    </Fieldset>
  )
}

type HeaderParts = {
  header: HeaderDraft
  /** Of its webhook, as it is typed. */
  url: string
  /** Both from 0. */
  place: { webhook: number; at: number }
  onChange: (header: HeaderDraft | undefined) => void
  error: unknown
}

export function HeaderFields({ header, url, place: { webhook, at }, onChange, error }: HeaderParts) {
  const which = `header ${at + 1} of URL ${webhook + 1}`
  return (
    <Group align="flex-start" gap="xs" wrap="nowrap">
      <TextInput
        flex={2}
        miw={0}
        aria-label={`Name of ${which}`}
        placeholder="X-Team"
        value={header.name}
        onChange={(event) => onChange({ ...header, name: event.currentTarget.value })}
        error={faultAt(error, headerPointer(webhook, header))}
        autoComplete="off"
      />
      <TextInput
        flex={3}
        miw={0}
        aria-label={`Value of ${which}`}
        placeholder={isKept(header, url) ? 'stored; leave empty to keep it' : 'value'}
        value={header.value}
        onChange={(event) => onChange({ ...header, value: event.currentTarget.value })}
        error={lostSaid(header, url)}
        autoComplete="off"
      />
      <Button
        variant="subtle"
        color="gray"
        px="xs"
        onClick={() => onChange(undefined)}
        aria-label={`Remove ${which}`}
      >
        <Icon of="cross" size={16} />
      </Button>
    </Group>
  )
}
