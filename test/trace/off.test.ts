import { execFile } from 'node:child_process'
import { glob, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { openTracer } from '../../trace/open.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A process that refuses its settings has loaded everything that precedes its tracer. */
async function loadedBy(role: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  const hook = `
    import { registerHooks } from 'node:module'
    registerHooks({ load(url, context, next) {
      const found = /node_modules\\/(@opentelemetry\\/[^/]+)/.exec(url)
      if (found) process.stderr.write('LOADED ' + found[1] + '\\n')
      return next(url, context)
    } })`
  const args = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`, `${role}/main.ts`]
  const run = promisify(execFile)(process.execPath, args, { cwd: root, env })
  const { stderr } = await run.catch((ended: { stderr: string }) => ended)
  expect(stderr).toContain('KAFKA_BROKERS: not set')
  return [...new Set(Array.from(stderr.matchAll(/LOADED (\S+)/g), ([, name = '']) => name))]
}

test('a process loads nothing of OpenTelemetry except what the metrics client brings', async () => {
  expect(await loadedBy('deliverer', { PATH: process.env.PATH })).toEqual(['@opentelemetry/api'])
})

test('only one file imports the SDK, and it is loaded only when traces are on', async () => {
  const sources = new Map<string, string>()
  const folders = '{cli,control,deliverer,egress,ingest,kafka,local,router,schemas,trace}'
  for await (const file of glob(['*.ts', `${folders}/**/*.ts`], { cwd: root }))
    sources.set(file, await readFile(`${root}${file}`, 'utf8'))
  const importing = (what: RegExp) =>
    [...sources].flatMap(([file, text]) => (what.test(text) ? [file] : [])).toSorted()
  const reached = ['carrier', 'otel', 'spans'].map((name) => `trace/${name}.ts`)
  expect(importing(/from '@opentelemetry\//)).toEqual(reached)
  const inner = /from '.*trace\/(carrier|conventions|otel|spans)\.ts'/
  expect(importing(inner)).toEqual([])
  expect(importing(/\/otel\.ts'/)).toEqual(['trace/open.ts'])
  expect(sources.get('trace/open.ts')).toContain("await import('./otel.ts')")
})

test('without settings there is no tracer', async () => {
  expect(await openTracer(undefined, { info: () => undefined, warn: () => undefined })).toBeUndefined()
})
