import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { uncorrected } from '../../api/client/errors.ts'
import { type Destination, type TestSend as TestBody, useTestSend } from '../../api/destinations.ts'
import { useRecentCalls } from '../../api/events.ts'
import { ErrorAlert } from '../../ui/error-alert.tsx'
import { JsonArea } from '../../ui/form/json-area.tsx'
import { visible } from '../../wording/visible.ts'
import { type Payload, recentPayloads, SAMPLES, toBody } from './payloads.ts'
import { Results, RulesNote } from './results.tsx'
import { Verification } from './verification.tsx'

export function TestSend({ destination }: { destination: Destination }) {
  const { id, webhooks } = destination
  const test = useTestSend(id)
  const chosen = usePayload(destination)
  const body = toBody(chosen.payload, chosen.text)
  const isJson = !(body instanceof SyntaxError)
  const error = uncorrected(test.error, test.variables, isJson ? body : undefined)
  // the API checks the user's call
  const send = () => isJson && test.mutate(body as TestBody)
  return (
    <Stack>
      <PayloadFields {...chosen} error={isJson ? undefined : `This is not JSON: ${body.message}.`} />
      <Group>
        <Button onClick={send} loading={test.isPending} disabled={!isJson}>
          Send test
        </Button>
        <Text size="xs" c="dimmed" flex={1} miw={200}>
          Goes to {webhooks.length === 1 ? 'the webhook' : `all ${webhooks.length} webhooks`}, even if the
          destination is off. Tests are not retried.
        </Text>
      </Group>
      <ErrorAlert error={error} title="The test may not have been sent" />
      <div role="status">
        {test.data && (
          <>
            <RulesNote tested={test.data.rules} rules={destination.rules} />
            <Results results={test.data.results} />
          </>
        )}
      </div>
      <Verification destination={destination} />
    </Stack>
  )
}

type PayloadFieldsProps = ReturnType<typeof usePayload> & { error: string | undefined }

function PayloadFields({ payload, text, choose, edit, payloads, error }: PayloadFieldsProps) {
  return (
    <>
      <NativeSelect
        label="Start from"
        description="You can edit it before you send it."
        value={payload.id}
        onChange={(event) => choose(event.currentTarget.value)}
        data={payloads}
        maw={520}
      />
      {payload.omitted.length > 0 && (
        <Text size="sm">Longer than 8 KB and therefore left out here: {payload.omitted.join(', ')}.</Text>
      )}
      {payload.text === undefined ? (
        <Text size="sm" c="dimmed">
          A deletion asks to delete the user “test-user”. It has nothing to edit.
        </Text>
      ) : (
        <JsonArea
          label="Call"
          description="The call as a client sends it. Sluice renders it like any event, and gives it a test id."
          value={text}
          onChange={(event) => edit(event.currentTarget.value)}
          error={error}
          rows={14}
        />
      )}
    </>
  )
}

function usePayload(destination: Destination) {
  const recent = recentPayloads(useRecentCalls(destination).data ?? [])
  const [{ payload, text }, set] = useState(() => ({ payload: SAMPLES[0], text: SAMPLES[0].text ?? '' }))
  const options = (all: readonly Payload[]) =>
    all.map(({ id, label }) => ({ value: id, label: visible(label) }))
  return {
    payload,
    text,
    choose(id: string) {
      const chosen = [...SAMPLES, ...recent].find((one) => one.id === id)
      if (chosen) set({ payload: chosen, text: chosen.text ?? '' })
    },
    edit: (text: string) => set({ payload, text }),
    payloads: [
      { group: 'Samples', items: options(SAMPLES) },
      ...(recent.length > 0 ? [{ group: 'Recent events', items: options(recent) }] : []),
    ],
  }
}
