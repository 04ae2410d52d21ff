import { Alert, Anchor, Paper, Stepper, Text } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import { Link } from 'wouter'
import { type Destination, useDestination, useDestinations } from '../../api/destinations.ts'
import { useMayWrite } from '../../api/session.ts'
import { Empty } from '../../ui/layout/empty.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { Page } from '../../ui/layout/page.tsx'
import { counted } from '../../wording/format.ts'
import { goOnWith, isLeftOff, STEPS, setUpOf } from '../destinations/set-up-progress.ts'
import { SourcesStep } from './sources-step.tsx'
import { TestStep, TurnOnStep } from './test-and-turn-on-steps.tsx'
import { useSetUp } from './use-set-up.ts'
import { SecretStep, WebhooksStep } from './webhooks-and-secret-steps.tsx'

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

type StepParts = { title: string; hasMoved: boolean; children: ReactNode }

/**
 * A step takes the focus when it comes, so that it is said, and the keyboard goes on from its beginning. @param hasMoved false: it
 * came with the page, which says so itself.
 */
export function Step({ title, hasMoved, children }: StepParts) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (hasMoved) place.current?.focus({ preventScroll: true })
  }, [hasMoved])
  return (
    <Paper
      withBorder
      p="lg"
      mt="sm"
      ref={place}
      tabIndex={-1}
      role="group"
      aria-label={`Step: ${title}`}
      style={{ outline: 'none' }}
    >
      {children}
    </Paper>
  )
}

const MOST = 3

/** Those whose set-up was left before its end, the last one first: to go on with, in place of one more. */
export function Unfinished() {
  const all = (useDestinations().data ?? [])
    .filter(isLeftOff)
    .toSorted((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1))
  if (all.length === 0) return null
  return (
    <Alert
      color="blue"
      mb="md"
      maw={820}
      title={`${counted(all.length, 'destination was', 'destinations were')} never turned on`}
    >
      {all.slice(0, MOST).map((destination) => (
        <Text key={destination.id} size="sm" className="in-flow">
          {destination.name}:{' '}
          <Anchor
            component={Link}
            to={setUpOf(destination)}
            size="sm"
            aria-label={`${goOnWith(destination)}: ${destination.name}`}
          >
            {goOnWith(destination)}
          </Anchor>
        </Text>
      ))}
      {all.length > MOST && (
        <Anchor component={Link} to="/destinations" size="sm">
          and {counted(all.length - MOST, 'other')}
        </Anchor>
      )}
    </Alert>
  )
}
