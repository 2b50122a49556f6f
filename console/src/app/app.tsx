import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { lazy, type ReactElement, Suspense, useEffect, useState } from 'react'
import { Redirect, Route, Switch, useLocation } from 'wouter'
import { ApiError } from '../api/client'
import { liveListen, liveStart, liveState } from '../api/live'
import { liveRefresher, shouldRetry, useMe } from '../api/queries'
import { handleKey } from '../base/keys'
import { ProjectsPage } from '../features/projects/page'
import { RUN_TABS } from '../features/run/tabs'
import { Setup } from '../features/session/setup'
import { SignIn } from '../features/session/signin'
import { Failure, Loading } from '../widgets/empty'
import { Fence } from '../widgets/fence'
import { WidgetProvider } from '../widgets/kit/provider'
import { Frame } from './frame'
import { language } from './language'
import { NotFound } from './not-found'
import { useWatched } from './watched'

// Pages come when they are opened; the first one stays small.
const AgentsPage = lazy(async () => ({
  default: (await import('../features/agents/page')).AgentsPage,
}))
const ClustersPage = lazy(async () => ({
  default: (await import('../features/clusters/page')).ClustersPage,
}))
const ClusterPage = lazy(async () => ({
  default: (await import('../features/clusters/page')).ClusterPage,
}))
const JobPage = lazy(async () => ({ default: (await import('../features/job/page')).JobPage }))
const KeysPage = lazy(async () => ({ default: (await import('../features/keys/page')).KeysPage }))
const LaunchPage = lazy(async () => ({
  default: (await import('../features/launch/page')).LaunchPage,
}))
const QuotaPage = lazy(async () => ({
  default: (await import('../features/quota/page')).QuotaPage,
}))
const QueuePage = lazy(async () => ({
  default: (await import('../features/queue/page')).QueuePage,
}))
const RunPage = lazy(async () => ({ default: (await import('../features/run/page')).RunPage }))
const RunsPage = lazy(async () => ({ default: (await import('../features/runs/page')).RunsPage }))

function makeQueries(): QueryClient {
  const queries: QueryClient = new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => {
        if (!(error instanceof ApiError)) return
        // Signed out elsewhere, or the session ended: the sign-in page takes this page's place.
        if (error.status === 401 && query.queryKey[0] !== 'me')
          void queries.resetQueries({ queryKey: ['me'] })
        if (error.status === 0) liveState.set('offline')
      },
      onSuccess: () => liveState.get() === 'offline' && liveState.set('behind'),
    }),
    defaultOptions: {
      queries: { retry: shouldRetry, staleTime: 1000, refetchOnWindowFocus: true },
    },
  })
  return queries
}

function Pages(): ReactElement {
  const [path] = useLocation()
  return (
    <Frame>
      <Fence at={path}>
        <Suspense fallback={<Loading />}>
          <Switch>
            <Route path="/">
              <ProjectsPage />
            </Route>
            <Route path="/queue">
              <QueuePage />
            </Route>
            <Route path="/launch">
              <LaunchPage />
            </Route>
            <Route path="/clusters">
              <ClustersPage />
            </Route>
            <Route path="/clusters/:cluster">
              {(params) => <ClusterPage key={params.cluster} cluster={params.cluster} />}
            </Route>
            <Route path="/agents">
              <AgentsPage />
            </Route>
            <Route path="/keys">
              <KeysPage />
            </Route>
            <Route path="/jobs/:job">
              {(params) => <JobPage key={params.job} job={params.job} />}
            </Route>
            <Route path="/p/:project">
              {(params) => <Redirect to={`/p/${params.project}/runs`} replace />}
            </Route>
            <Route path="/p/:project/runs">
              {(params) => <RunsPage key={params.project} project={params.project} />}
            </Route>
            <Route path="/p/:project/quota">
              {(params) => <QuotaPage key={params.project} project={params.project} />}
            </Route>
            <Route path="/p/:project/r/:run">
              {(params) => (
                <Redirect to={`/p/${params.project}/r/${params.run}/overview`} replace />
              )}
            </Route>
            <Route path="/p/:project/r/:run/:tab">
              {(params) => {
                const tab = RUN_TABS.find((known) => known === params.tab)
                if (!tab) return <NotFound />
                return (
                  <RunPage key={params.run} project={params.project} run={params.run} tab={tab} />
                )
              }}
            </Route>
            <Route>
              <NotFound />
            </Route>
          </Switch>
        </Suspense>
      </Fence>
    </Frame>
  )
}

function Gate({ queries }: { queries: QueryClient }): ReactElement {
  const me = useMe()
  const signedIn = me.data !== undefined
  useEffect(() => {
    if (!signedIn) return
    const stopListening = liveListen(liveRefresher(queries))
    const stop = liveStart()
    return () => {
      stop()
      stopListening()
    }
  }, [signedIn, queries])
  if (signedIn) return <Pages />
  if (me.error?.status === 401) return <SignIn />
  if (me.error) return <Failure error={me.error} whole onRetry={() => void me.refetch()} />
  return <Loading />
}

export function App(): ReactElement {
  const [queries] = useState(makeQueries)
  const chosen = useWatched(language)
  useEffect(() => {
    document.addEventListener('keydown', handleKey)
    return () => document.removeEventListener('keydown', handleKey)
  }, [])
  return (
    <WidgetProvider>
      <QueryClientProvider client={queries}>
        {/* A new language draws everything anew. */}
        <Switch key={chosen}>
          <Route path="/setup">
            <Setup />
          </Route>
          <Route>
            <Gate queries={queries} />
          </Route>
        </Switch>
      </QueryClientProvider>
    </WidgetProvider>
  )
}
