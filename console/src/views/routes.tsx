import { Center, Loader } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { Redirect, Route, Switch } from 'wouter'
import { useSeesAll } from '../api/session.ts'
import { Empty } from '../ui/layout/empty.tsx'
import { Page } from '../ui/layout/page.tsx'

const Overview = lazy(() => import('./overview/overview.tsx'))
const Catalog = lazy(() => import('./catalog.tsx'))
const SetUp = lazy(() => import('./set-up/set-up.tsx'))
const Sources = lazy(() => import('./sources/sources.tsx'))
const OneSource = lazy(() => import('./sources/source.tsx'))
const Destinations = lazy(() => import('./destinations/destinations.tsx'))
const OneDestination = lazy(() => import('./destinations/destination.tsx'))
const Deliveries = lazy(() => import('./event-search/event-search.tsx'))
const Dead = lazy(() => import('./dead-letters/dead-letters.tsx'))
const Lag = lazy(() => import('./lag/lag.tsx'))
const Users = lazy(() => import('./users/users.tsx'))
const Audit = lazy(() => import('./audit/audit.tsx'))
const Backup = lazy(() => import('./backup.tsx'))
const Computations = lazy(() => import('./computations/computations.tsx'))

export function Routes() {
  const seesAll = useSeesAll()
  return (
    <Suspense
      fallback={
        <Center py="xl">
          <Loader role="status" aria-label="Loading" />
        </Center>
      }
    >
      <Switch>
        <Route path="/catalog" component={Catalog} />
        <Route path="/catalog/webhooks/:id?">{({ id }) => <SetUp key={id ?? ''} id={id} />}</Route>
        <Route path="/sources" component={Sources} />
        <Route path="/sources/:id/:tab?">{({ id, tab }) => <OneSource key={id} id={id} tab={tab} />}</Route>
        <Route path="/destinations" component={Destinations} />
        <Route path="/destinations/:id/:tab?">
          {({ id, tab }) => <OneDestination key={id} id={id} tab={tab} />}
        </Route>
        <Route path="/dead" component={Dead} />
        <Route path="/">{seesAll ? <Overview /> : <Redirect to="/destinations" replace />}</Route>
        {seesAll && (
          <>
            <Route path="/deliveries" component={Deliveries} />
            <Route path="/lag" component={Lag} />
            <Route path="/users" component={Users} />
            <Route path="/audit" component={Audit} />
            <Route path="/backup" component={Backup} />
            <Route path="/audiences">
              <Computations key="audiences" kind="audiences" />
            </Route>
            <Route path="/traits">
              <Computations key="traits" kind="traits" />
            </Route>
          </>
        )}
        <Route component={NotFound} />
      </Switch>
    </Suspense>
  )
}

function NotFound() {
  return (
    <Page title="Page not found">
      <Empty icon="search" title="This page does not exist" action={{ label: 'Go to the start', to: '/' }}>
        Check the address. The resource may also have been deleted.
      </Empty>
    </Page>
  )
}
