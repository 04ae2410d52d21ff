import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { compressed, LICENSES, licenses } from './generate/build-plugins.ts'

/** `npm run console`: console/dist, which control serves (control/api/console.ts). */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  plugins: [react(), compressed(), licenses(), ingestWhileDeveloping()],
  build: {
    // every file by its own name, so that the page's policy needs no data: but for CSS's own images
    assetsInlineLimit: 0,
    emptyOutDir: true,
    // of what is bundled; control serves it (control/api/console.ts)
    license: { fileName: LICENSES },
    target: 'es2022',
    reportCompressedSize: false,
  },
  // for work on the console: `npx vite console`, beside a control that runs
  server: { proxy: { '/api': 'http://127.0.0.1:8081' } },
})

/** What control writes into the page that it serves. */
function ingestWhileDeveloping(): Plugin {
  return {
    name: 'sluice-ingest',
    apply: 'serve',
    transformIndexHtml: (html) => html.replaceAll('__SLUICE_INGEST__', 'http://localhost:8080'),
  }
}
