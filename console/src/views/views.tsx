import { Center, Loader } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { Route, Switch } from 'wouter'
import { NotThere } from './not-there.tsx'

const Overview = lazy(() => import('./overview/overview.tsx'))
const Catalog = lazy(() => import('./catalog/catalog.tsx'))
const SetUp = lazy(() => import('./set-up/set-up.tsx'))
const Sources = lazy(() => import('./sources/sources.tsx'))
const OneSource = lazy(() => import('./sources/one-source.tsx'))
const Destinations = lazy(() => import('./destinations/destinations.tsx'))
const OneDestination = lazy(() => import('./destinations/one-destination.tsx'))
const Deliveries = lazy(() => import('./deliveries/deliveries.tsx'))
const Dead = lazy(() => import('./dead/dead.tsx'))
const Lag = lazy(() => import('./lag/lag.tsx'))
const Audiences = lazy(() => import('./computations/audiences.tsx'))
const Traits = lazy(() => import('./computations/traits.tsx'))

/** Which view stands at which path. */
export function Views() {
  return (
    <Suspense
      fallback={
        <Center py="xl">
          <Loader role="status" aria-label="Loading" />
        </Center>
      }
    >
      <Switch>
        <Route path="/" component={Overview} />
        <Route path="/catalog" component={Catalog} />
        <Route path="/catalog/webhooks/:id?">{({ id }) => <SetUp key={id ?? ''} id={id} />}</Route>
        <Route path="/sources" component={Sources} />
        <Route path="/sources/:id">{({ id }) => <OneSource key={id} id={id} />}</Route>
        <Route path="/destinations" component={Destinations} />
        <Route path="/destinations/:id/:tab?">
          {({ id, tab }) => <OneDestination key={id} id={id} tab={tab} />}
        </Route>
        <Route path="/deliveries" component={Deliveries} />
        <Route path="/dead" component={Dead} />
        <Route path="/lag" component={Lag} />
        <Route path="/audiences" component={Audiences} />
        <Route path="/traits" component={Traits} />
        <Route component={NotThere} />
      </Switch>
    </Suspense>
  )
}
