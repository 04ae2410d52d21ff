import { Button, Group, TextInput } from '@mantine/core'
import { faultAt } from '../../api/problem.ts'
import { Icon } from '../../parts/icon.tsx'
import { type HeaderDraft, headerPointer, isKept, lostSaid } from './draft.ts'

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
