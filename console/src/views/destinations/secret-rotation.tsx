import { Alert, Button, Checkbox, Code, Group, List, NativeSelect, Stack, Table, Text } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { serverNow } from '../../api/client/clock.ts'
import { fieldError } from '../../api/client/errors.ts'
import { type Destination, useReplaceDestination } from '../../api/destinations.ts'
import { type Edited, Editing } from '../../ui/form/editing.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Panel } from '../../ui/layout/page.tsx'
import { Copy } from '../../ui/values/copy.tsx'
import { Timestamp, useNow } from '../../ui/values/time.tsx'
import { AT_ONCE, OVERLAPS, overlapEnd } from '../../wording/format.ts'
import { Verification } from '../test-send/verification.tsx'
import { SecretField } from '../webhooks/secret-field.tsx'
import { secretError } from './secret-faults.ts'
import { type Signature, signaturesAfter, signaturesOf } from './signatures.ts'

/** Secrets are write-only: only the page that set one shows it. */
export function SecretRotation({ destination }: { destination: Destination }) {
  const [saved, setSaved] = useState<SavedSecret>()
  return (
    <Stack>
      <Panel
        title="Shared secret"
        lead={
          destination.sharedSecret === undefined
            ? 'No secret is set. Requests are not signed.'
            : 'Every request is signed with the secret. You can replace or remove it, but not view it.'
        }
      >
        {saved?.version === destination.version && <NewSecret {...saved} />}
        <Editing latest={destination}>
          {(edited, key) => <SecretForm key={key} {...edited} onSecret={setSaved} />}
        </Editing>
      </Panel>
      <Panel>
        <Verification destination={destination} />
      </Panel>
    </Stack>
  )
}

/** `version`: of the destination with this secret. */
type SavedSecret = { secret: string; version: number }

/** A secret that was not copied could only be replaced, which ends the previous one at once. */
function NewSecret({ secret }: SavedSecret) {
  const alert = useRef<HTMLDivElement>(null)
  // the form's button may be a screen further down
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new secret comes into view
  useEffect(() => {
    alert.current?.focus({ preventScroll: true })
    alert.current?.scrollIntoView({ block: 'center' })
  }, [secret])
  return (
    <Alert color="blue" title="Your new secret" mb="md" ref={alert} tabIndex={-1}>
      <Text size="sm" mb="xs">
        Copy it to your receiver now. It is not shown again after you leave this page.
      </Text>
      <Group gap="xs">
        <Code className="in-flow">{secret}</Code>
        <Copy text={secret} what="new secret" />
      </Group>
    </Alert>
  )
}

type FormProps = Edited<Destination> & { onSecret: (saved: SavedSecret) => void }

function SecretForm({ base, onSaved, form, onSecret }: FormProps) {
  const [secret, setSecret] = useState('')
  const [hours, setHours] = useState('24')
  const [isRemoved, setRemoved] = useState(false)
  const [endsPrevious, setEndsPrevious] = useState(false)
  const { save, saving } = useSave({ base, secret, onSaved, onSecret })
  const now = useNow()
  const hasSecret = base.sharedSecret !== undefined
  const isRotating = Date.parse(base.previousSecretExpiresAt ?? '') > now

  function submit() {
    const until = hasSecret ? overlapEnd(hours, serverNow()) : undefined
    const next = { sharedSecret: secret, ...(until !== undefined && { previousSecretExpiresAt: until }) }
    save(isRemoved ? {} : next)
  }

  return (
    <Form
      {...form}
      onSubmit={submit}
      saving={saving}
      shown={(pointer) => pointer === '/sharedSecret'}
      action={isRemoved ? 'Remove secret' : hasSecret ? 'Replace secret' : 'Set secret'}
      done={isRotating ? 'The new secret is active' : 'Saved'}
      disabled={isRemoved ? false : secret === '' || (isRotating && !endsPrevious)}
    >
      {isRotating && (
        <Rotating
          until={base.previousSecretExpiresAt ?? ''}
          // the mask keeps the current secret
          onEnd={() => save(hasSecret ? { sharedSecret: base.sharedSecret } : {})}
          isEnding={saving.isPending}
        />
      )}
      {hasSecret && <Signatures title="Signatures now" signatures={signaturesOf(base, now)} />}
      {!isRemoved && (
        <SecretField
          isStandard={base.standardWebhooks ?? false}
          label={hasSecret ? 'New secret' : 'Secret'}
          value={secret}
          onChange={(typed) => {
            // “Generate” fires no change event
            form.onChange()
            setSecret(typed)
          }}
          error={fieldError(saving.error, '/sharedSecret')}
        />
      )}
      {hasSecret && !isRemoved && (
        <Overlap base={base} hours={hours} setHours={setHours} now={now} isNew={secret !== ''} />
      )}
      {isRotating && !isRemoved && secret !== '' && (
        <EndsPrevious checked={endsPrevious} onChange={setEndsPrevious} />
      )}
      {hasSecret && <RemovesSecret checked={isRemoved} onChange={setRemoved} />}
    </Form>
  )
}

type SaveOptions = Pick<FormProps, 'base' | 'onSaved' | 'onSecret'> & {
  /** As it was typed. */
  secret: string
}

function useSave({ base, secret, onSaved, onSecret }: SaveOptions) {
  const replace = useReplaceDestination()
  const sent = replace.variables?.sharedSecret
  return {
    /** Saves only these secrets. */
    save(secrets: Partial<Destination>) {
      const onSuccess = (saved: Destination) => {
        onSaved(saved)
        if (secret !== '' && secrets.sharedSecret === secret) onSecret({ secret, version: saved.version })
      }
      replace.mutate({ ...withoutSecrets(base), ...secrets }, { onSuccess })
    },
    saving: { ...replace, error: secretError(replace.error, { sent, typed: secret }) },
  }
}

type ChoiceProps = { checked: boolean; onChange: (checked: boolean) => void }

/** Only two secrets sign: a replacement during a rotation ends the one that receivers may still have. */
const EndsPrevious = ({ checked, onChange }: ChoiceProps) => (
  <Checkbox
    label="No receiver uses the previous secret anymore. It ends immediately."
    checked={checked}
    onChange={(event) => onChange(event.currentTarget.checked)}
  />
)

const RemovesSecret = ({ checked, onChange }: ChoiceProps) => (
  <Checkbox
    label="Remove the secret. Requests will not be signed."
    checked={checked}
    onChange={(event) => onChange(event.currentTarget.checked)}
  />
)

function withoutSecrets(destination: Destination) {
  const { sharedSecret: _, previousSecret: __, previousSecretExpiresAt: ___, ...rest } = destination
  return rest
}

function Rotating({ until, onEnd, isEnding }: { until: string; onEnd: () => void; isEnding: boolean }) {
  return (
    <Alert color="blue" title="Rotation in progress">
      <Text size="sm" mb="xs">
        Requests are also signed with the previous secret until <Timestamp at={until} />. If you replace the
        secret now, the previous one ends immediately.
      </Text>
      <Button size="compact-sm" variant="default" onClick={onEnd} loading={isEnding}>
        End the previous secret now
      </Button>
    </Alert>
  )
}

type OverlapProps = {
  base: Destination
  hours: string
  setHours: (hours: string) => void
  now: number
  /** Whether a new secret was typed. */
  isNew: boolean
}

function Overlap({ base, hours, setHours, now, isNew }: OverlapProps) {
  return (
    <>
      <NativeSelect
        label="Keep signing with the current secret"
        description="Receivers can switch to the new secret at any time in this period."
        value={hours}
        onChange={(event) => setHours(event.currentTarget.value)}
        data={OVERLAPS}
        maw={320}
      />
      {isNew && (
        <Signatures
          title="Signatures after you replace the secret"
          signatures={signaturesAfter(base, overlapEnd(hours, now), now)}
        />
      )}
      <Steps isStandard={base.standardWebhooks ?? false} overlaps={hours !== AT_ONCE} />
    </>
  )
}

function Signatures({ title, signatures }: { title: string; signatures: readonly Signature[] }) {
  return (
    <div>
      <Text size="sm" fw={600}>
        {title}
      </Text>
      <Table.ScrollContainer
        minWidth={460}
        scrollAreaProps={{ 'aria-label': title, viewportProps: { tabIndex: 0 } }}
      >
        <Table fz="sm" verticalSpacing={6} aria-label={title}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Header</Table.Th>
              <Table.Th>Signed with</Table.Th>
              <Table.Th>Stops</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {signatures.map(({ header, method, secret, until }) => (
              <Table.Tr key={header}>
                <Table.Td>
                  <Code>{header}</Code>
                  <Text size="xs" c="dimmed">
                    {method}
                  </Text>
                </Table.Td>
                <Table.Td>{secret}</Table.Td>
                <Table.Td>
                  {until === undefined ? 'When you replace or remove it' : <Timestamp at={until} />}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </div>
  )
}

function Steps({ isStandard, overlaps }: { isStandard: boolean; overlaps: boolean }) {
  if (!overlaps)
    return (
      <Alert color="yellow" title="No overlap">
        Receivers that still have the current secret reject every request until they have the new one.
        Rejected requests are not retried; you can replay them.
      </Alert>
    )
  return (
    <List type="ordered" size="sm" spacing={4}>
      <List.Item>
        Make sure that your receiver accepts the previous secret, as the code below does: it{' '}
        {isStandard ? (
          <>
            accepts any signature in <Code>webhook-signature</Code>
          </>
        ) : (
          <>
            checks <Code>X-Signature</Code>, then <Code>X-Signature-Previous</Code>
          </>
        )}
        . One that checks only the first signature rejects requests until it has the new secret.
      </List.Item>
      <List.Item>Replace the secret here.</List.Item>
      <List.Item>Give the new secret to your receiver before the current one stops.</List.Item>
    </List>
  )
}
