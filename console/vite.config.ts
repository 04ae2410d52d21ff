import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { compressed, LICENSES, licenses } from './generate/build-plugins.ts'

/**
 * One file for the first visit, one for shared code, one per view. Otherwise shared code becomes fifty small files that
 * compress worse.
 */
const FILES = [
  { name: 'index', tags: ['$initial' as const], priority: 1 },
  { name: 'shared', minShareCount: 2 },
]

/** `npm run console` builds console/dist, which control serves (control/api/console.ts). */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  plugins: [react(), compressed(), licenses(), ingestInDevelopment()],
  build: {
    // the content security policy allows data: URLs only for images in CSS
    assetsInlineLimit: 0,
    emptyOutDir: true,
    // served by control (control/api/console.ts)
    license: { fileName: LICENSES },
    target: 'es2022',
    rolldownOptions: { output: { codeSplitting: { groups: FILES } } },
    reportCompressedSize: false,
  },
  // for development: `npx vite console`, beside a running control
  server: { proxy: { '/api': 'http://127.0.0.1:8081' } },
})

/** Control fills the placeholder in production. */
function ingestInDevelopment(): Plugin {
  return {
    name: 'sluice-ingest',
    apply: 'serve',
    transformIndexHtml: (html) => html.replaceAll('__SLUICE_INGEST__', 'http://localhost:8080'),
  }
}
