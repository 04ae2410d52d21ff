import { Stepper } from '@mantine/core'
import { type Destination, useDestination } from '../../api/destinations.ts'
import { useMayWrite } from '../../api/session.ts'
import { Empty } from '../../parts/empty.tsx'
import { Loaded } from '../../parts/loaded.tsx'
import { Page } from '../../parts/page.tsx'
import { STEPS } from './left-off.ts'
import { SecretStep } from './secret-step.tsx'
import { SourcesStep } from './sources-step.tsx'
import { Step } from './step.tsx'
import { TestStep } from './test-step.tsx'
import { TurnOnStep } from './turn-on-step.tsx'
import { Unfinished } from './unfinished.tsx'
import { useSetUp } from './use-set-up.ts'
import { WebhooksStep } from './webhooks-step.tsx'

/**
 * From the catalog to the first event: sources, URLs and headers, secret, test, on. @param id of a
 * destination whose set-up was left before its end.
 */
export default function SetUp({ id }: { id: string | undefined }) {
  const mayWrite = useMayWrite()
  return (
    <Page
      title="Set up Webhooks"
      under={{ title: 'Catalog', to: '/catalog' }}
      lead="Each event of the sources that you choose, as a signed POST to your URLs."
    >
      {mayWrite ? (
        <Begun id={id} />
      ) : (
        <Empty
          icon="catalog"
          title="With this token nothing can be changed"
          action={{ label: 'See destinations', to: '/destinations' }}
        >
          Sign in with the control token to set one up.
        </Empty>
      )}
    </Page>
  )
}

function Begun({ id }: { id: string | undefined }) {
  const query = useDestination(id)
  if (id === undefined) return <Steps />
  return <Loaded query={query}>{(destination) => <Steps left={destination} />}</Loaded>
}

function Steps({ left }: { left?: Destination }) {
  const setUp = useSetUp(left)
  const { step, hasMoved, goTo, destination, isSaved } = setUp
  return (
    <>
      {step === STEPS.sources && !destination && <Unfinished />}
      <Stepper
        active={step}
        onStepClick={goTo}
        // what is tried and turned on is what was typed
        allowNextStepsSelect={isSaved}
        size="sm"
        maw={820}
        completedIcon={null}
      >
        <Stepper.Step label="Sources">
          <Step title="Sources" hasMoved={hasMoved}>
            <SourcesStep setUp={setUp} />
          </Step>
        </Stepper.Step>
        <Stepper.Step label="URLs">
          <Step title="URLs" hasMoved={hasMoved}>
            <WebhooksStep setUp={setUp} />
          </Step>
        </Stepper.Step>
        <Stepper.Step label="Secret">
          <Step title="Secret" hasMoved={hasMoved}>
            <SecretStep setUp={setUp} />
          </Step>
        </Stepper.Step>
        <Stepper.Step label="Test">
          <Step title="Test" hasMoved={hasMoved}>
            {destination && <TestStep destination={destination} onNext={() => goTo(STEPS.on)} />}
          </Step>
        </Stepper.Step>
        <Stepper.Step label="Turn on">
          <Step title="Turn on" hasMoved={hasMoved}>
            {destination && <TurnOnStep destination={destination} onSwitched={setUp.onSwitched} />}
          </Step>
        </Stepper.Step>
      </Stepper>
    </>
  )
}
