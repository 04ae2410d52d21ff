import { Paper, Stepper } from '@mantine/core'
import { useMayWrite } from '../../api/session.ts'
import { Empty } from '../../parts/empty.tsx'
import { Page } from '../../parts/page.tsx'
import { SecretStep } from './secret-step.tsx'
import { SourcesStep } from './sources-step.tsx'
import { TestStep } from './test-step.tsx'
import { TurnOnStep } from './turn-on-step.tsx'
import { useSetUp } from './use-set-up.ts'
import { WebhooksStep } from './webhooks-step.tsx'

/** From the catalog to the first event, in the order of the seed: sources, URLs and headers, secret, test, on. */
export default function SetUp() {
  const mayWrite = useMayWrite()
  const setUp = useSetUp()
  const { step, goTo, destination } = setUp
  return (
    <Page
      title="Set up Webhooks"
      under={{ title: 'Catalog', to: '/catalog' }}
      lead="Each event of the sources that you choose, as a signed POST to your URLs."
    >
      {mayWrite ? (
        <Stepper
          active={step}
          onStepClick={goTo}
          allowNextStepsSelect={destination !== undefined}
          size="sm"
          maw={820}
          completedIcon={null}
        >
          <Stepper.Step label="Sources">
            <Card>
              <SourcesStep setUp={setUp} />
            </Card>
          </Stepper.Step>
          <Stepper.Step label="URLs">
            <Card>
              <WebhooksStep setUp={setUp} />
            </Card>
          </Stepper.Step>
          <Stepper.Step label="Secret">
            <Card>
              <SecretStep setUp={setUp} />
            </Card>
          </Stepper.Step>
          <Stepper.Step label="Test">
            <Card>{destination && <TestStep destination={destination} onNext={() => goTo(4)} />}</Card>
          </Stepper.Step>
          <Stepper.Step label="Turn on">
            <Card>
              {destination && <TurnOnStep destination={destination} onChanged={setUp.setDestination} />}
            </Card>
          </Stepper.Step>
        </Stepper>
      ) : (
        <Empty
          icon="catalog"
          title="This token may look only"
          action={{ label: 'See destinations', to: '/destinations' }}
        >
          Sign in with the control token to set one up.
        </Empty>
      )}
    </Page>
  )
}

function Card({ children }: { children: React.ReactNode }) {
  return (
    <Paper withBorder p="lg" mt="sm">
      {children}
    </Paper>
  )
}
