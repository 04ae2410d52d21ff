import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { SETTINGS } from '../../config.ts'
import { SHUTDOWN_MS } from '../../lifecycle.ts'
import type { Role } from '../../settings/config-key.ts'
import {
  cronJob,
  type Deployment,
  deployment,
  hasHelm,
  hasKubectl,
  type Manifest,
  objectsOf,
  rendered,
  renderedChart,
  scaling,
  selecting,
} from './manifests.ts'
import { configOf, opsPort, ROLES } from './settings.ts'

const hasSchemas = spawnSync('python3', ['-c', 'import kubernetes_validate']).status === 0
const validator = fileURLToPath(new URL('./validate_kubernetes.py', import.meta.url))
const operators = fileURLToPath(new URL('./operators', import.meta.url))
// Go or its modules may be missing; .ci/run builds this beforehand
const canCheckOperators = spawnSync('go', ['build', '-o', '/dev/null', '.'], { cwd: operators }).status === 0
const faultsForOperators = (objects: readonly Manifest[]): string =>
  execFileSync('go', ['run', '.'], { cwd: operators, input: JSON.stringify(objects), encoding: 'utf8' })
const example = new URL('../../ops/kubernetes/overlays/example/', import.meta.url)
const secrets = objectsOf(readFileSync(new URL('secrets.example.yaml', example), 'utf8'))

const deploymentOf = (objects: readonly Manifest[], role: Role): Deployment =>
  deployment.parse(
    objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === `sluice-${role}`),
  )

/** From ConfigMaps, the pods themselves, and the secrets that operators make. */
function environmentOf(objects: readonly Manifest[], { spec }: Deployment): Record<string, string> {
  const [{ env, envFrom }] = spec.template.spec.containers
  const sources = envFrom.map((from) =>
    'configMapRef' in from
      ? { kind: 'ConfigMap', name: from.configMapRef.name }
      : { kind: 'Secret', name: from.secretRef.name },
  )
  return Object.assign(
    {},
    ...sources.map(({ kind, name }) => {
      const found = [...objects, ...secrets].find((each) => each.kind === kind && each.metadata.name === name)
      if (!found) throw new Error(`there is no ${kind} ${name}`)
      return found.data ?? found.stringData
    }),
    ...env.map(({ name, value }) => ({ [name]: value })),
  )
}

const exampleValues = fileURLToPath(new URL('../../ops/helm/values.example.yaml', import.meta.url))
const deployed = [
  {
    what: 'the example overlay',
    can: hasKubectl,
    render: () => rendered('overlays/example'),
    renderLeast: () => rendered('base'),
  },
  {
    what: 'the chart with its example values',
    can: hasHelm,
    render: () => renderedChart('--values', exampleValues),
    renderLeast: () => renderedChart('--set', 'kafka.brokers=kafka:9092,schemaRegistry.url=http://registry'),
  },
]

for (const { what, can, render, renderLeast } of deployed)
  describe.skipIf(!can)(what, () => {
    const objects = can ? render() : []
    const deployments = can ? ROLES.map((role) => deploymentOf(objects, role)) : []
    const of = (...kinds: string[]) => objects.filter(({ kind }) => kinds.includes(kind))

    test('is in one namespace', () => {
      const inside = objects.filter(({ kind }) => kind !== 'Namespace')
      expect(new Set(inside.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['sluice']))
      expect(secrets.map(({ metadata }) => metadata.namespace)).toEqual(['sluice', 'sluice'])
    })

    test.skipIf(!hasSchemas)("is what Kubernetes' schemas allow, with no field that they do not know", () => {
      const input = JSON.stringify([...objects, ...renderLeast(), ...secrets])
      expect(execFileSync('python3', [validator], { input, encoding: 'utf8' })).toBe('')
    })

    test.skipIf(!canCheckOperators)(
      'is what the Prometheus operator and KEDA define, with no field that they do not know',
      () => {
        expect(of('PodMonitor')).toHaveLength(1)
        expect(of('ScaledObject')).toHaveLength(2)
        expect(faultsForOperators(objects)).toBe('')
      },
    )

    test.skipIf(!canCheckOperators)(
      'would be refused with a wrong or unknown field in an object for an operator',
      () => {
        const [monitor] = of('PodMonitor')
        const [scaled] = of('ScaledObject')
        const { triggers, ...spec } = z.looseObject({ triggers: z.unknown() }).parse(scaled?.spec)
        const wrong = [
          { ...monitor, spec: { selectors: {} } },
          { ...scaled, spec: { ...spec, trigger: triggers, maxReplicaCount: 'many' } },
        ]
        const faults = faultsForOperators(z.array(z.custom<Manifest>()).parse(wrong))
        expect(faults).toContain('unknown field "selectors"')
        expect(faults).toContain('spec.triggers: Required value')
        expect(faults).toContain('unknown field "spec.trigger"')
        expect(faults).toContain('spec.maxReplicaCount: Invalid value')
      },
    )

    test.each(ROLES)('gives %s only settings that exist and that it starts with', (role) => {
      const env = environmentOf(objects, deploymentOf(objects, role))
      expect(Object.keys(env).filter((name) => !SETTINGS.includes(name))).toEqual([])
      expect(() => configOf(role, env)).not.toThrow()
    })

    test.each(ROLES)('runs %s and probes the ports on which it listens', (role) => {
      const found = deploymentOf(objects, role)
      const [container] = found.spec.template.spec.containers
      const config = configOf(role, environmentOf(objects, found))
      expect(container.args).toEqual([`${role}/main.ts`])
      expect(container.ports.find(({ name }) => name === 'ops')?.containerPort).toBe(opsPort(config))
      expect(container.ports.map(({ containerPort }) => containerPort)).toContain(config.port)
      const asked = [container.startupProbe, container.livenessProbe, container.readinessProbe].map(
        ({ httpGet }) => httpGet,
      )
      expect(asked.map(({ path }) => path)).toEqual(['/livez', '/livez', '/readyz'])
      expect(new Set(asked.map(({ port }) => port))).toEqual(new Set(['ops']))
    })

    test.each(ROLES)('gives %s enough time to stop', (role) => {
      const { containers, terminationGracePeriodSeconds } = deploymentOf(objects, role).spec.template.spec
      const before = containers[0].lifecycle?.preStop.sleep.seconds ?? 0
      expect(terminationGracePeriodSeconds).toBeGreaterThan(before + SHUTDOWN_MS / 1000)
    })

    test.each(ROLES)('mounts only the files that %s names in its settings', (role) => {
      const found = deploymentOf(objects, role)
      const { containers, volumes } = found.spec.template.spec
      const [{ volumeMounts }] = containers
      expect(volumeMounts.map(({ name }) => name)).toEqual(volumes.map(({ name }) => name))
      const { kafka, registry, egress } = configOf(role, environmentOf(objects, found))
      const kafkaCa = typeof kafka.ssl === 'object' ? kafka.ssl.caFile : undefined
      // the others send no webhooks
      const webhooksCa = role === 'deliverer' || role === 'control' ? egress.caFile : undefined
      const read = [kafkaCa, registry.caFile, webhooksCa].filter((file) => file !== undefined)
      expect(read.length).toBeGreaterThan(0)
      expect(read).toEqual(volumeMounts.map(({ mountPath }) => `${mountPath}/ca.crt`))
    })

    test('selects pods that exist', () => {
      const pods = [
        ...deployments.map(({ spec, metadata }) => ({
          name: metadata.name,
          labels: spec.template.metadata.labels,
        })),
        ...of('CronJob').map((each) => {
          const { metadata, spec } = cronJob.parse(each)
          return { name: metadata.name, labels: spec.jobTemplate.spec.template.metadata.labels }
        }),
      ]
      const found = of('Service', 'PodDisruptionBudget', 'NetworkPolicy', 'PodMonitor', 'Deployment').map(
        (each) => {
          const { spec, metadata } = selecting.parse(each)
          const wanted = [
            ...Object.entries(spec.matchLabels).map(([key, value]) => ({ key, values: [value] })),
            ...spec.matchExpressions,
          ]
          const matching = pods.filter(({ labels }) =>
            wanted.every(({ key, values }) => values.includes(labels[key] ?? '')),
          )
          return [`${each.kind} ${metadata.name}`, matching.map(({ name }) => name.replace('sluice-', ''))]
        },
      )
      const each = ROLES.flatMap((role) => [
        [`Deployment sluice-${role}`, [role]],
        [`PodDisruptionBudget sluice-${role}`, [role]],
      ])
      expect(Object.fromEntries(found)).toEqual({
        ...Object.fromEntries(each),
        'Service sluice-ingest': ['ingest'],
        'Service sluice-control': ['control'],
        'NetworkPolicy sluice': ROLES,
        'NetworkPolicy sluice-ingest': ['ingest'],
        'NetworkPolicy sluice-control': ['control'],
        'NetworkPolicy sluice-webhooks': ['deliverer', 'control'],
        ...(of('CronJob').length > 0 && { 'NetworkPolicy sluice-backup': ['backup'] }),
        'PodMonitor sluice': ROLES,
      })
    })

    test('names ports that pods have', () => {
      const names = new Set(
        deployments.flatMap(({ spec }) => spec.template.spec.containers[0].ports.map(({ name }) => name)),
      )
      const named = JSON.stringify(of('Service', 'NetworkPolicy', 'PodMonitor')).matchAll(
        /"(?:targetPort|port)":"(\w+)"/g,
      )
      const used = [...named].map(([, name = '']) => name)
      expect(used.length).toBeGreaterThan(4)
      expect(used.filter((name) => !names.has(name))).toEqual([])
    })

    test('starts a new pod before an old one stops, but a new control only after all old ones have stopped', () => {
      const strategies = deployments.map(({ metadata, spec }) => [metadata.name, spec.strategy])
      const rolling = { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }
      expect(Object.fromEntries(strategies)).toEqual({
        'sluice-ingest': rolling,
        'sluice-router': rolling,
        'sluice-deliverer': rolling,
        'sluice-control': { type: 'Recreate' },
      })
    })

    test('scales only Deployments without fixed replicas', () => {
      const scaled = of('HorizontalPodAutoscaler', 'ScaledObject').map(
        (each) => scaling.parse(each).spec.scaleTargetRef.name,
      )
      expect(scaled.toSorted()).toEqual(['sluice-deliverer', 'sluice-ingest', 'sluice-router'])
      const fixed = deployments
        .filter(({ spec }) => spec.replicas !== undefined)
        .map(({ metadata }) => metadata.name)
      expect(fixed).toEqual(['sluice-control'])
    })

    test('scales by lag in its own namespace up to the number of partitions, and ignores records on rungs', () => {
      const { partitions } = configOf('router', environmentOf(objects, deploymentOf(objects, 'router'))).kafka
      for (const { spec, metadata } of of('ScaledObject')) {
        expect(spec, metadata.name).toMatchObject({ maxReplicaCount: partitions })
        expect(JSON.stringify(spec)).toMatch(/lag_seconds\{namespace=~?\\"sluice\\",/)
        const query = JSON.stringify(spec).match(/consumergroup=~\\"(.+?)\\"/)?.[1] ?? ''
        const groups = new RegExp(`^(${query.replaceAll('\\\\\\\\', '\\')})$`)
        const expected = metadata.name === 'sluice-router' ? ['router'] : ['deliverer', 'deliverer.due']
        const read = ['router', 'deliverer', 'deliverer.due', 'deliverer.rungs', 'control.tasks', 'replay.1']
        expect(read.filter((group) => groups.test(group))).toEqual(expected)
      }
    })

    test('keeps to the restricted pod security standard', () => {
      const templates = [
        ...deployments.map(({ spec }) => spec.template),
        ...of('CronJob').map((each) => cronJob.parse(each).spec.jobTemplate.spec.template),
      ]
      for (const { spec } of templates)
        expect(spec).toMatchObject({
          automountServiceAccountToken: false,
          securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
          containers: [
            {
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
            },
          ],
        })
    })
  })
