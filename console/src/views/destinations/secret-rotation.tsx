import { Alert, Checkbox, NativeSelect, Text } from '@mantine/core'
import { useState } from 'react'
import { type Destination, useReplaceDestination } from '../../api/destinations.ts'
import { fieldError } from '../../api/errors.ts'
import { type Edited, Editing } from '../../ui/form/editing.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Panel } from '../../ui/layout/page.tsx'
import { Timestamp } from '../../ui/values/time.tsx'
import { FOR_PERIODS, HOUR_MS } from '../../wording/format.ts'
import { SecretField } from '../webhooks/secret-field.tsx'

const OVERLAPS = [...FOR_PERIODS, { value: '0', label: 'End it now' }]

/** Secrets are write-only: the stored one is never shown. */
export function SecretRotation({ destination }: { destination: Destination }) {
  return (
    <Panel
      title="Shared secret"
      lead={
        destination.sharedSecret === undefined
          ? 'No secret is set. Requests are not signed.'
          : 'Every request is signed with the secret. You can replace or remove it, but not view it.'
      }
    >
      <Editing latest={destination}>{(edited, key) => <SecretForm key={key} {...edited} />}</Editing>
    </Panel>
  )
}

function SecretForm({ base, onSaved, form }: Edited<Destination>) {
  const [secret, setSecret] = useState('')
  const [hours, setHours] = useState('24')
  const [isRemoved, setRemoved] = useState(false)
  const replace = useReplaceDestination()
  const { sharedSecret: current, previousSecretExpiresAt: until } = base
  const isRotating = until !== undefined && Date.parse(until) > Date.now()
  const hasSecret = current !== undefined

  function submit() {
    const { sharedSecret: _, previousSecret: __, previousSecretExpiresAt: ___, ...rest } = base
    const expiry = new Date(Date.now() + Number(hours) * HOUR_MS).toISOString()
    const overlaps = hasSecret && hours !== '0'
    const next = { sharedSecret: secret, ...(overlaps && { previousSecretExpiresAt: expiry }) }
    replace.mutate({ ...rest, ...(!isRemoved && next) }, { onSuccess: onSaved })
  }

  return (
    <Form
      {...form}
      onSubmit={submit}
      saving={replace}
      shown={(pointer) => pointer === '/sharedSecret'}
      action={isRemoved ? 'Remove secret' : hasSecret ? 'Replace secret' : 'Set secret'}
      done={hasSecret ? 'The new secret is active' : 'The secret was removed'}
      disabled={secret === '' && !isRemoved}
    >
      {isRotating && (
        <Alert color="blue" title="Rotation in progress">
          <Text size="sm">
            Requests are also signed with the previous secret (X-Signature-Previous) until{' '}
            <Timestamp at={until} />. If you replace the secret now, the previous one ends immediately.
          </Text>
        </Alert>
      )}
      {!isRemoved && (
        <SecretField
          label={hasSecret ? 'New secret' : 'Secret'}
          value={secret}
          onChange={setSecret}
          error={fieldError(replace.error, '/sharedSecret')}
        />
      )}
      {hasSecret && !isRemoved && (
        <NativeSelect
          label="Keep signing with the current secret"
          description="Receivers can switch to the new secret at any time in this period."
          value={hours}
          onChange={(event) => setHours(event.currentTarget.value)}
          data={OVERLAPS}
          maw={320}
        />
      )}
      {hasSecret && (
        <Checkbox
          label="Remove the secret. Requests will not be signed."
          checked={isRemoved}
          onChange={(event) => setRemoved(event.currentTarget.checked)}
        />
      )}
    </Form>
  )
}
