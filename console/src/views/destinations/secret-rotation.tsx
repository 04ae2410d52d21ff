import { Alert, Button, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useReplaceDestination } from '../../api/destinations.ts'
import { faultAt } from '../../api/problem.ts'
import { useOpened } from '../../parts/opened.ts'
import { Panel } from '../../parts/panel.tsx'
import { Refusal } from '../../parts/refusal.tsx'
import { When } from '../../parts/when.tsx'
import { SecretField } from '../webhooks/secret-field.tsx'
import type { OpenedParts } from './destination-settings.tsx'

const HOURS = [
  { value: '24', label: 'for a day' },
  { value: '168', label: 'for a week' },
  { value: '1', label: 'for an hour' },
  { value: '0', label: 'no longer: it ends now' },
]

/** Secrets are written only: what there is nobody is shown. */
export function SecretRotation({ destination, refetch }: OpenedParts) {
  const { opened, show, reload, touch } = useOpened(destination, refetch)
  const [secret, setSecret] = useState('')
  const [hours, setHours] = useState('24')
  const replace = useReplaceDestination()
  const { sharedSecret: present, previousSecretExpiresAt: until } = opened
  const isRotating = until !== undefined && Date.parse(until) > Date.now()

  function submit(event: FormEvent) {
    event.preventDefault()
    const { previousSecret: _, previousSecretExpiresAt: __, ...rest } = opened
    const expiry = new Date(Date.now() + Number(hours) * 3_600_000).toISOString()
    const overlaps = present !== undefined && hours !== '0'
    replace.mutate(
      { ...rest, sharedSecret: secret, ...(overlaps && { previousSecretExpiresAt: expiry }) },
      {
        onSuccess(saved) {
          show(saved)
          setSecret('')
        },
      },
    )
  }

  return (
    <Panel
      title="Shared secret"
      lead={
        present === undefined
          ? 'There is none: POSTs go out unsigned.'
          : 'There is one, and every POST is signed with it. It cannot be shown, only replaced.'
      }
    >
      <form onSubmit={submit} onChangeCapture={touch} onClickCapture={touch}>
        <Stack maw={640}>
          {isRotating && (
            <Alert color="blue" title="A rotation is under way">
              <Text size="sm">
                The secret before this one signs as well (X-Signature-Previous) until <When at={until} />.
              </Text>
            </Alert>
          )}
          <SecretField
            label={present === undefined ? 'Secret' : 'New secret'}
            value={secret}
            onChange={setSecret}
            error={faultAt(replace.error, '/sharedSecret')}
          />
          {present !== undefined && (
            <NativeSelect
              label="The present secret signs as well"
              description="So that receivers can change over at any moment of that time."
              value={hours}
              onChange={(event) => setHours(event.currentTarget.value)}
              data={HOURS}
              maw={320}
            />
          )}
          <Refusal error={replace.error} shown={(pointer) => pointer === '/sharedSecret'} onReload={reload} />
          <Group>
            <Button type="submit" loading={replace.isPending} disabled={secret === ''}>
              {present === undefined ? 'Set secret' : 'Replace secret'}
            </Button>
            <Text size="sm" role="status">
              {replace.isSuccess && secret === '' && 'The new secret is in force'}
            </Text>
          </Group>
        </Stack>
      </form>
    </Panel>
  )
}
