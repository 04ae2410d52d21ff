import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { ROLES } from '../../settings/config-key.ts'
import { describedMetrics, namedMetrics } from './metric-names.ts'

const RULES = 'ops/prometheus/sluice.rules.yml'
const TESTS = 'ops/prometheus/sluice.rules.test.yml'

const ruleShape = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.strictObject({ severity: z.enum(['page', 'ticket', 'info']) }),
  annotations: z.strictObject({ summary: z.string(), runbook: z.string() }),
})
const rulesShape = z.object({ groups: z.array(z.object({ rules: z.array(ruleShape) })) })
const testsShape = z.object({
  tests: z.array(
    z.object({
      alert_rule_test: z.array(
        z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()).optional() }),
      ),
    }),
  ),
})

const read = async (file: string) => parse(await readFile(file, 'utf8'))
const rules = rulesShape.parse(await read(RULES)).groups.flatMap((group) => group.rules)
const alerts = rules.map(({ alert }) => alert)

test('each alert names its entry in the runbook, and the runbook has no others', async () => {
  const runbook = await readFile('ops/runbook.md', 'utf8')
  expect(rules.map(({ annotations }) => annotations.runbook)).toEqual(
    alerts.map((alert) => `ops/runbook.md#${alert.toLowerCase()}`),
  )
  const entries = runbook.split(/^## /m).slice(1)
  expect(entries.map((entry) => entry.split('\n')[0])).toEqual(alerts)
  for (const entry of entries)
    expect(entry).toMatch(/^\w+\n\n\*\*Means\*\* (.+\n)+\n\*\*See\*\* (.+\n)+\n\*\*Do\*\* /)
})

test('each alert is seen to fire by a test of its own', async () => {
  const cases = testsShape.parse(await read(TESTS)).tests.flatMap((each) => each.alert_rule_test)
  const fired = cases.filter((each) => each.exp_alerts).map(({ alertname }) => alertname)
  expect(new Set(fired)).toEqual(new Set(alerts))
})

test('what alerts, their tests and the runbook name are metrics that there are', async () => {
  const described = await describedMetrics()
  for (const file of [RULES, TESTS, 'ops/runbook.md'])
    expect([...namedMetrics(await readFile(file, 'utf8'))].filter((name) => !described.has(name))).toEqual([])
})

test('each role is a job of its own, under the port that it has unless told', async () => {
  const ports = { ingest: 8084, router: 8082, deliverer: 8083, control: 8086 }
  const { scrape_configs } = await read('ops/prometheus/prometheus.yml')
  expect(scrape_configs).toEqual(
    ROLES.map((role) => ({
      job_name: role,
      static_configs: [{ targets: [`localhost:${ports[role]}`] }],
    })),
  )
})

// Prometheus' own tool; a machine may lack it; .ci/run installs it
const hasPromtool = spawnSync('promtool', ['--version']).status === 0
const promtool = (...args: string[]) => {
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' })
  return { status, said: `${stdout}${stderr}` }
}

test.skipIf(!hasPromtool)('the rules are as promtool wants them, and do as their tests say', () => {
  expect(promtool('check', 'rules', RULES)).toMatchObject({ status: 0 })
  expect(promtool('test', 'rules', TESTS)).toMatchObject({ status: 0 })
  for (const config of ['prometheus.yml', 'compose.yml'])
    expect(promtool('check', 'config', `ops/prometheus/${config}`)).toMatchObject({ status: 0 })
})
