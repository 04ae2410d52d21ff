import { Alert, Anchor, Paper, Stepper, Text } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import { Link } from 'wouter'
import { type Destination, useDestination, useDestinations } from '../../api/destinations.ts'
import { useMayManage } from '../../api/session.ts'
import { Empty } from '../../ui/layout/empty.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { Missing } from '../../ui/layout/missing.tsx'
import { Page } from '../../ui/layout/page.tsx'
import { pluralize } from '../../wording/format.ts'
import { visible } from '../../wording/visible.ts'
import { SET_UP_LABEL, STEPS, setUpPath } from '../destinations/set-up-progress.ts'
import { SourcesStep } from './sources-step.tsx'
import { TestStep, TurnOnStep } from './test-and-turn-on-steps.tsx'
import { type SetUp as SetUpState, useSetUp } from './use-set-up.ts'
import { SecretStep, WebhooksStep } from './webhooks-and-secret-steps.tsx'

/** @param id of a destination whose set-up is unfinished. */
export default function SetUp({ id }: { id: string | undefined }) {
  const mayManage = useMayManage('destinations')
  return (
    <Page
      title="Set up Webhooks"
      parent={{ title: 'Catalog', to: '/catalog' }}
      lead="Sends each event from the sources you choose to your URLs as a signed POST."
    >
      {mayManage ? (
        <SetUpSteps id={id} />
      ) : (
        <Empty
          icon="catalog"
          title="You cannot make changes"
          action={{ label: 'View destinations', to: '/destinations' }}
        >
          Sign in as an admin to set up a destination.
        </Empty>
      )}
    </Page>
  )
}

function SetUpSteps({ id }: { id: string | undefined }) {
  const query = useDestination(id)
  if (id === undefined) return <Steps />
  return (
    <Loaded query={query} missing={<Missing what="destination" />}>
      {(destination) => <Steps unfinished={destination} />}
    </Loaded>
  )
}

function Steps({ unfinished }: { unfinished?: Destination }) {
  const setUp = useSetUp(unfinished)
  const { step, hasMoved, goTo, destination, isSaved } = setUp
  return (
    <>
      {step === STEPS.sources && !destination && <SwitchedOff />}
      <Stepper
        active={step}
        onStepClick={goTo}
        // the test and the switch use the saved destination
        allowNextStepsSelect={isSaved}
        size="sm"
        maw={820}
        completedIcon={null}
      >
        {stepsOf(setUp).map(({ title, content }) => (
          <Stepper.Step key={title} label={title}>
            <Step title={title} hasMoved={hasMoved}>
              {content}
            </Step>
          </Stepper.Step>
        ))}
      </Stepper>
    </>
  )
}

/** As in `STEPS`. */
function stepsOf(setUp: SetUpState): { title: string; content: ReactNode }[] {
  const { destination, goTo, onSwitched } = setUp
  return [
    { title: 'Sources', content: <SourcesStep setUp={setUp} /> },
    { title: 'URLs', content: <WebhooksStep setUp={setUp} /> },
    { title: 'Secret', content: <SecretStep setUp={setUp} /> },
    {
      title: 'Test',
      content: destination && (
        <TestStep destination={destination} onBack={() => goTo(STEPS.secret)} onNext={() => goTo(STEPS.on)} />
      ),
    },
    {
      title: 'Turn on',
      content: destination && (
        <TurnOnStep destination={destination} onBack={() => goTo(STEPS.test)} onSwitched={onSwitched} />
      ),
    },
  ]
}

type StepProps = { title: string; hasMoved: boolean; children: ReactNode }

/** Takes the focus when the user moves to it, for screen readers. */
function Step({ title, hasMoved, children }: StepProps) {
  const container = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (hasMoved) container.current?.focus({ preventScroll: true })
  }, [hasMoved])
  return (
    <Paper
      withBorder
      p="lg"
      mt="sm"
      ref={container}
      tabIndex={-1}
      role="group"
      aria-label={`Step: ${title}`}
      style={{ outline: 'none' }}
    >
      {children}
    </Paper>
  )
}

const MAX_SHOWN = 3

/** Some may be from a set-up that was not finished. */
function SwitchedOff() {
  const all = (useDestinations().data ?? [])
    .filter(({ enabled }) => !enabled)
    .toSorted((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1))
  if (all.length === 0) return null
  return (
    <Alert
      color="blue"
      mb="md"
      maw={820}
      title={`${pluralize(all.length, 'destination is', 'destinations are')} off`}
    >
      {all.slice(0, MAX_SHOWN).map((destination) => (
        <Text key={destination.id} size="sm" className="in-flow">
          {visible(destination.name)}:{' '}
          <Anchor
            component={Link}
            to={setUpPath(destination)}
            size="sm"
            aria-label={`${SET_UP_LABEL}: ${destination.name}`}
          >
            {SET_UP_LABEL}
          </Anchor>
        </Text>
      ))}
      {all.length > MAX_SHOWN && (
        <Anchor component={Link} to="/destinations" size="sm">
          and {pluralize(all.length - MAX_SHOWN, 'other')}
        </Anchor>
      )}
    </Alert>
  )
}
