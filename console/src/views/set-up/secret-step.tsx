import { Button, Code, Group, Stack, Text } from '@mantine/core'
import { faultAt, isConflict } from '../../api/problem.ts'
import { ChangedMeanwhile } from '../../parts/changed-meanwhile.tsx'
import { Refusal } from '../../parts/refusal.tsx'
import { SecretField } from '../webhooks/secret-field.tsx'
import { STEPS } from './left-off.ts'
import type { SetUp } from './use-set-up.ts'

export function SecretStep({ setUp }: { setUp: SetUp }) {
  const { draft, change, goTo, save, isSaving, error, conflict } = setUp
  const { secret, hasSecret } = draft
  return (
    <Stack>
      <Text size="sm">
        With a shared secret each POST is signed, so that your receiver can tell it from a forged one:{' '}
        <Code>X-Signature</Code> is the HMAC-SHA1 of the body, keyed by the secret, in lower-case hex.{' '}
        {hasSecret && 'One is stored: it stays, unless you give another.'}
      </Text>
      <SecretField
        label={hasSecret ? 'Another shared secret' : 'Shared secret (optional)'}
        value={secret}
        onChange={(secret) => change({ secret })}
        error={faultAt(error, '/sharedSecret')}
      />
      {conflict && isConflict(error) ? (
        <ChangedMeanwhile {...conflict} onKeep={conflict.keepMine} />
      ) : (
        <Refusal error={error} shown={(pointer) => pointer === '/sharedSecret'} />
      )}
      <Group justify="space-between">
        <Button variant="default" onClick={() => goTo(STEPS.webhooks)}>
          Back
        </Button>
        <Button onClick={() => void save()} loading={isSaving}>
          {secret === '' && !hasSecret ? 'Save without a secret' : 'Save'}
        </Button>
      </Group>
    </Stack>
  )
}
