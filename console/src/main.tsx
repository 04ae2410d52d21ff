import './look/library.css'
import 'uplot/dist/uPlot.min.css'
import './look.css'
import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { setNonce } from 'get-nonce'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Router } from 'wouter'
import { queries } from './api/queries.ts'
import { App } from './app.tsx'
import { variables } from './look/contrast.ts'
import { theme } from './look/theme.ts'
import { goIfSaved } from './parts/unsaved.ts'
import { loadAnewOnce } from './reload-once.ts'

const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''
// what the modal's scroll lock writes into the page
setNonce(nonce)

window.addEventListener('vite:preloadError', () => void loadAnewOnce())

const root = document.getElementById('console')
if (!root) throw new Error('the page has no place for the console')

createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={variables}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <QueryClientProvider client={queries}>
        <Router aroundNav={goIfSaved}>
          <App />
        </Router>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
