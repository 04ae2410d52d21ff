import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { stringify } from 'yaml'
import { z } from 'zod'
import { describedMetrics, namedMetrics } from './metric-names.ts'

const targetShape = z.object({ expr: z.string(), legendFormat: z.string() })
const panelShape = z.object({
  id: z.number(),
  title: z.string(),
  gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
  targets: z.array(targetShape).default([]),
})
const text = await readFile('ops/grafana/sluice.json', 'utf8')
const { panels, templating } = z
  .object({
    panels: z.array(panelShape),
    templating: z.object({ list: z.array(z.object({ name: z.string() })) }),
  })
  .parse(JSON.parse(text))
const variables = templating.list.map(({ name }) => name)
const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))

test('the board shows metrics that there are, and each of our own', async () => {
  const described = await describedMetrics()
  const shown = namedMetrics(queries.join('\n'))
  expect([...shown].filter((name) => !described.has(name))).toEqual([])
  expect([...described].filter((name) => /^(sluice|kafka)_/.test(name) && !shown.has(name))).toEqual([])
})

test('each query takes only series of the chosen namespace and release', () => {
  const chosen = '{namespace=~"$namespace",app_kubernetes_io_instance=~"$release"'
  const names = queries.flatMap((query) => [...query.matchAll(/\b(?:sluice|kafka|process|nodejs)_\w+/g)])
  expect(names.length).toBeGreaterThanOrEqual(queries.length)
  expect(names.filter(({ input, index, 0: name }) => !input.startsWith(chosen, index + name.length))).toEqual(
    [],
  )
  expect(variables).toEqual(['datasource', 'namespace', 'release'])
})

test('panels have ids of their own, and none lies on another', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)}/${y + Math.floor(cell / w)}`),
  )
  expect(new Set(cells).size).toBe(cells.length)
  for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
})

const hasPromtool = spawnSync('promtool', ['--version']).status === 0

test.skipIf(!hasPromtool)('Prometheus takes each query', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'rules.yml')
  const rules = queries.map((expr, index) => ({
    record: `query_${index}`,
    // Grafana fills it in
    expr: expr.replaceAll('$__rate_interval', '1m'),
  }))
  await writeFile(file, stringify({ groups: [{ name: 'board', rules }] }))
  const { status, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, expect.any(String)])
})
