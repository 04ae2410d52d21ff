import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { Icon } from '../../ui/layout/icon.tsx'
import { Copy } from '../../ui/values/copy.tsx'

const BYTES = 24

/** 192 random bits, in letters that every language's libraries take. */
function makeSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
}

/** A secret to be: in clear while it is typed, as it can be read only now. */
export function SecretField({
  label,
  value,
  onChange,
  error,
}: {
  label: string
  value: string
  onChange: (secret: string) => void
  error: string | undefined
}) {
  return (
    <Stack gap={6}>
      <Group align="flex-end" gap="xs">
        <TextInput
          flex={1}
          miw={220}
          label={label}
          description="Store it with your receiver now: afterwards it can be replaced, and not be read any more."
          value={value}
          onChange={(event) => onChange(event.currentTarget.value)}
          error={error}
          autoComplete="off"
          spellCheck={false}
        />
        <Button
          variant="default"
          leftSection={<Icon of="key" size={16} />}
          onClick={() => onChange(makeSecret())}
        >
          Generate
        </Button>
      </Group>
      {value !== '' && (
        <Group gap="xs">
          <Copy text={value} what="secret" />
          <Text size="xs" c="dimmed">
            Not saved yet.
          </Text>
        </Group>
      )}
    </Stack>
  )
}
