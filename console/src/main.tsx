import './theme/library.css'
import 'uplot/dist/uPlot.min.css'
import './theme/page.css'
import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { setNonce } from 'get-nonce'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Router } from 'wouter'
import { queryClient } from './api/client/query-client.ts'
import { App } from './app.tsx'
import { reloadOnce } from './reload.ts'
import { theme, variables } from './theme/theme.ts'
import { confirmLeave, holdUnsaved } from './ui/form/unsaved.ts'
import { takeLink } from './views/portal-link.tsx'
import { takeSignOnFailure } from './views/sign-in.tsx'

// before any request
const signOnError = takeSignOnFailure()
const link = takeLink()

const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''
// for styles injected by the modal's scroll lock
setNonce(nonce)

window.addEventListener('vite:preloadError', () => void reloadOnce(() => window.location.reload()))
window.addEventListener('popstate', holdUnsaved, true)

const root = document.getElementById('console')
if (!root) throw new Error('index.html has no element with the id "console"')

createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={variables}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <QueryClientProvider client={queryClient}>
        <Router aroundNav={confirmLeave}>
          <App link={link} signOnError={signOnError} />
        </Router>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
