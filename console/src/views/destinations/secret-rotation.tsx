import { Alert, Checkbox, NativeSelect, Text } from '@mantine/core'
import { useState } from 'react'
import { type Destination, useReplaceDestination } from '../../api/destinations.ts'
import { faultAt } from '../../api/errors.ts'
import { type Edited, Editing } from '../../ui/form/editing.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Panel } from '../../ui/layout/page.tsx'
import { When } from '../../ui/values/when.tsx'
import { FOR, HOUR_MS } from '../../wording/format.ts'
import { SecretField } from '../webhooks/secret-field.tsx'

const OVERLAPS = [...FOR, { value: '0', label: 'no longer: it ends now' }]

/** Secrets are written only: what there is nobody is shown. */
export function SecretRotation({ destination }: { destination: Destination }) {
  return (
    <Panel
      title="Shared secret"
      lead={
        destination.sharedSecret === undefined
          ? 'There is none: POSTs go out unsigned.'
          : 'There is one, and every POST is signed with it. It cannot be shown, only replaced or removed.'
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
  const { sharedSecret: present, previousSecretExpiresAt: until } = base
  const isRotating = until !== undefined && Date.parse(until) > Date.now()
  const hasPresent = present !== undefined

  function submit() {
    const { sharedSecret: _, previousSecret: __, previousSecretExpiresAt: ___, ...rest } = base
    const expiry = new Date(Date.now() + Number(hours) * HOUR_MS).toISOString()
    const overlaps = hasPresent && hours !== '0'
    const next = { sharedSecret: secret, ...(overlaps && { previousSecretExpiresAt: expiry }) }
    replace.mutate({ ...rest, ...(!isRemoved && next) }, { onSuccess: onSaved })
  }

  return (
    <Form
      {...form}
      onSubmit={submit}
      saving={replace}
      shown={(pointer) => pointer === '/sharedSecret'}
      action={isRemoved ? 'Remove secret' : hasPresent ? 'Replace secret' : 'Set secret'}
      done={hasPresent ? 'The new secret is in force' : 'There is no secret any more'}
      disabled={secret === '' && !isRemoved}
    >
      {isRotating && (
        <Alert color="blue" title="A rotation is under way">
          <Text size="sm">
            The secret before this one signs as well (X-Signature-Previous) until <When at={until} />. If the
            secret is replaced now, that one ends at once.
          </Text>
        </Alert>
      )}
      {!isRemoved && (
        <SecretField
          label={hasPresent ? 'New secret' : 'Secret'}
          value={secret}
          onChange={setSecret}
          error={faultAt(replace.error, '/sharedSecret')}
        />
      )}
      {hasPresent && !isRemoved && (
        <NativeSelect
          label="The present secret signs as well"
          description="So that receivers can change over at any moment of that time."
          value={hours}
          onChange={(event) => setHours(event.currentTarget.value)}
          data={OVERLAPS}
          maw={320}
        />
      )}
      {hasPresent && (
        <Checkbox
          label="Remove the secret: POSTs go out unsigned from then on"
          checked={isRemoved}
          onChange={(event) => setRemoved(event.currentTarget.checked)}
        />
      )}
    </Form>
  )
}
