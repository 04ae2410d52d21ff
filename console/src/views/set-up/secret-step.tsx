import { Button, Code, Group, Stack, Text } from '@mantine/core'
import { faultAt } from '../../api/problem.ts'
import { Refusal } from '../../parts/refusal.tsx'
import { SecretField } from '../webhooks/secret-field.tsx'
import { type SetUp, STEPS } from './use-set-up.ts'

export function SecretStep({ setUp: { secret, setSecret, goTo, save, isSaving, error } }: { setUp: SetUp }) {
  return (
    <Stack>
      <Text size="sm">
        With a shared secret each POST is signed, so that your receiver can tell it from a forged one:{' '}
        <Code>X-Signature</Code> is the HMAC-SHA1 of the body, keyed by the secret, in lower-case hex.
      </Text>
      <SecretField
        label="Shared secret (optional)"
        value={secret}
        onChange={setSecret}
        error={faultAt(error, '/sharedSecret')}
      />
      <Refusal error={error} shown={(pointer) => pointer === '/sharedSecret'} />
      <Group justify="space-between">
        <Button variant="default" onClick={() => goTo(STEPS.webhooks)}>
          Back
        </Button>
        <Button onClick={() => void save()} loading={isSaving}>
          {secret === '' ? 'Save without a secret' : 'Save'}
        </Button>
      </Group>
    </Stack>
  )
}
