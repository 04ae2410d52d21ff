import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { z } from 'zod'
import { deployment, hasHelm, type Manifest, renderedAs, renderedChart, set } from './manifests.ts'

const hasPromtool = spawnSync('promtool', ['--version']).status === 0

const texts = z.record(z.string(), z.string())
const matchers = (labels: Record<string, string>) =>
  Object.entries(labels).map(([name, value]) => `${name}="${value}"`)
/** That the Prometheus operator adds to the series of control: the namespace, and labels of the pod. */
function labelsOfSeries(objects: readonly Manifest[]): Record<string, string> {
  const monitor = z
    .looseObject({ podTargetLabels: z.array(z.string()).default([]) })
    .parse(objects.find(({ kind }) => kind === 'PodMonitor')?.spec)
  const control = objects.find(
    ({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('-control'),
  )
  const { metadata, spec } = deployment.parse(control)
  const labels = monitor.podTargetLabels.map((name) => [
    name.replaceAll(/\W/g, '_'),
    spec.template.metadata.labels[name] ?? '',
  ])
  return { namespace: metadata.namespace ?? '', ...Object.fromEntries(labels) }
}
const triggers = z.looseObject({
  triggers: z.array(z.looseObject({ metadata: z.looseObject({ query: z.string().optional() }) })),
})
const lagQueries = (objects: readonly Manifest[]) =>
  objects
    .filter(({ kind }) => kind === 'ScaledObject')
    .flatMap(({ spec }) => triggers.parse(spec).triggers.flatMap(({ metadata }) => metadata.query ?? []))
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

describe.skipIf(!hasHelm)('monitoring of the chart', () => {
  test('has the same board as ops/grafana', () => {
    const board = renderedChart(...set('monitoring.dashboard.enabled=true')).find(
      ({ metadata }) => metadata.name === 'sluice-dashboard',
    )
    expect(board?.data).toEqual({ 'sluice.json': readFileSync('ops/grafana/sluice.json', 'utf8') })
    expect(board?.metadata.labels).toMatchObject({ grafana_dashboard: '1' })
  })

  test.skipIf(!hasPromtool)('two releases in one namespace scale by their own lag', () => {
    const releases = [
      { name: 'first', lag: 100 },
      { name: 'second', lag: 2 },
    ].map(({ name, lag }) => {
      const values = set('autoscaling.enabled=true', 'monitoring.podMonitor.enabled=true')
      return { lag, objects: renderedAs(name, ...values) }
    })
    const input_series = releases.flatMap(({ lag, objects }) =>
      ['router', 'deliverer'].map((consumergroup) => ({
        series: `kafka_consumergroup_lag_seconds{${matchers({ ...labelsOfSeries(objects), consumergroup })}}`,
        values: String(lag),
      })),
    )
    const promql_expr_test = releases.flatMap(({ lag, objects }) =>
      lagQueries(objects).map((expr) => ({
        expr,
        eval_time: '0s',
        exp_samples: [{ labels: '{}', value: lag }],
      })),
    )
    expect(promql_expr_test).toHaveLength(4)
    const file = join(temporaryFolder(), 'tests.yml')
    writeFileSync(file, stringify({ tests: [{ input_series, promql_expr_test }] }))
    const { stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })
    expect(stdout + stderr).toContain('SUCCESS')
  })

  describe('with alerts', () => {
    const rule = z.looseObject({
      alert: z.string(),
      expr: z.string(),
      labels: texts,
      annotations: texts,
    })
    const groups = z.array(z.looseObject({ name: z.string(), rules: z.array(rule) }))
    const ours = groups.parse(parse(readFileSync('ops/prometheus/sluice.rules.yml', 'utf8')).groups)
    const objects = hasHelm
      ? renderedChart(
          ...set(
            'monitoring.podMonitor.enabled=true',
            'monitoring.prometheusRule.enabled=true',
            'monitoring.prometheusRule.runbookUrl=https://docs.example.com/runbook',
          ),
        )
      : []
    const rules = () => {
      const found = objects.find(({ kind }) => kind === 'PrometheusRule')
      return groups.parse(z.looseObject({ groups: z.unknown() }).parse(found?.spec).groups)
    }
    const release = { namespace: 'sluice', app_kubernetes_io_instance: 'sluice' }
    const moved = (runbook = '') => `https://docs.example.com/runbook#${runbook.split('#')[1]}`

    test("has the alerts of ops/prometheus for its own release, with the runbook's address", () => {
      const own = matchers(release)
      const changed = ours.map((group) => ({
        ...group,
        rules: group.rules.map(({ expr, labels, annotations: { runbook, ...annotations }, ...rest }) => ({
          ...rest,
          // each metric
          expr: expr.replaceAll(/\b((?:sluice|kafka|process|nodejs)_\w+)([{]?)/g, (_, name, others) =>
            others ? `${name}{${own},` : `${name}{${own}}`,
          ),
          labels: { ...labels, ...release },
          annotations: { ...annotations, runbook_url: moved(runbook) },
        })),
      }))
      expect(rules()).toEqual(changed)
      expect(labelsOfSeries(objects)).toEqual(release)
    })

    test.skipIf(!hasPromtool)('has rules that Prometheus accepts', () => {
      const file = join(temporaryFolder(), 'rules.yml')
      writeFileSync(file, stringify({ groups: rules() }))
      expect(spawnSync('promtool', ['check', 'rules', file]).status).toBe(0)
    })
  })
})
