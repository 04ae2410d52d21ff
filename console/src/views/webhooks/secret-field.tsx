import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { newKey, urlSafe } from '../../random.ts'
import { Icon } from '../../ui/layout/icon.tsx'
import { Copy } from '../../ui/values/copy.tsx'

/** In the form of Standard Webhooks, or as URL-safe base64. */
const makeSecret = (isStandard: boolean): string => (isStandard ? `whsec_${newKey()}` : urlSafe(newKey()))

/** In clear text: a saved secret cannot be read. */
export function SecretField({
  isStandard,
  label,
  value,
  onChange,
  error,
}: {
  /** Whether Standard Webhooks signs with it. */
  isStandard: boolean
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
          description="Copy it to your receiver now. You can replace it later, but not view it."
          value={value}
          onChange={(event) => onChange(event.currentTarget.value)}
          error={error}
          autoComplete="off"
          spellCheck={false}
        />
        <Button
          variant="default"
          leftSection={<Icon of="key" size={16} />}
          onClick={() => onChange(makeSecret(isStandard))}
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
