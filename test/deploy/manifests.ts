import { execFileSync, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'

const folder = fileURLToPath(new URL('../../ops/kubernetes', import.meta.url))

// a machine may lack these; .ci/run installs them (requirements.txt)
export const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0
export const hasHelm = spawnSync('helm', ['version', '--short']).status === 0

const labels = z.record(z.string(), z.string())
const object = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional(), labels: labels.optional() }),
})
const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) }).loose()
const container = z.looseObject({
  args: z.tuple([z.string()]),
  image: z.string(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).default([]),
  envFrom: z.array(
    z.union([
      z.object({ configMapRef: z.object({ name: z.string() }) }),
      z.object({ secretRef: z.object({ name: z.string() }) }),
    ]),
  ),
  ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
  lifecycle: z.object({ preStop: z.object({ sleep: z.object({ seconds: z.number() }) }) }).optional(),
  resources: z.looseObject({ requests: labels, limits: labels }),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })).default([]),
})
export const deployment = object.extend({
  kind: z.literal('Deployment'),
  spec: z.looseObject({
    replicas: z.number().optional(),
    selector: z.object({ matchLabels: labels }),
    template: z.object({
      metadata: z.looseObject({ labels }),
      spec: z.looseObject({
        enableServiceLinks: z.literal(false),
        terminationGracePeriodSeconds: z.number(),
        volumes: z.array(z.looseObject({ name: z.string() })).default([]),
        containers: z.tuple([container]),
      }),
    }),
  }),
})
export const cronJob = object.extend({
  kind: z.literal('CronJob'),
  spec: z.looseObject({
    jobTemplate: z.object({
      spec: z.looseObject({
        template: z.object({
          metadata: z.looseObject({ labels }),
          spec: z.looseObject({
            containers: z.tuple([
              z.looseObject({
                command: z.array(z.string()),
                args: z.tuple([z.string()]),
                env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })),
              }),
            ]),
          }),
        }),
      }),
    }),
  }),
})
const selector = z.object({
  matchLabels: labels,
  matchExpressions: z
    .array(z.object({ key: z.string(), operator: z.literal('In'), values: z.array(z.string()) }))
    .default([]),
})

export const selecting = object.extend({
  spec: z.union([
    z.looseObject({ selector }).transform(({ selector }) => selector),
    z.looseObject({ podSelector: selector }).transform(({ podSelector }) => podSelector),
    z
      .looseObject({ selector: labels })
      .transform(({ selector: matchLabels }) => ({ matchLabels, matchExpressions: [] })),
  ]),
})
export const scaling = object.extend({
  spec: z.looseObject({ scaleTargetRef: z.looseObject({ name: z.string() }) }),
})

export type Manifest = z.infer<typeof object>
export type Deployment = z.infer<typeof deployment>

/** As by `kubectl apply -k`. */
export function rendered(path: string): Manifest[] {
  const text = execFileSync('kubectl', ['kustomize', path], { cwd: folder, encoding: 'utf8' })
  return objectsOf(text)
}

export const CHART = fileURLToPath(new URL('../../ops/helm/sluice', import.meta.url))

/** @throws with what it says against the values */
export function helm(command: 'lint' | 'template', ...args: string[]): string {
  const release =
    command === 'template' ? ['sluice', '--namespace', 'sluice', '--kube-version', '1.37.0'] : []
  const { status, stdout, stderr } = spawnSync('helm', [command, ...release, CHART, ...args], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stdout + stderr)
  return stdout
}

/** @param args such as `--values FILE` */
export const renderedChart = (...args: string[]): Manifest[] => objectsOf(helm('template', ...args))

/** As another release in the same namespace. */
export const renderedAs = (release: string, ...args: string[]): Manifest[] => {
  const options = ['--namespace', 'sluice', '--kube-version', '1.37.0', ...args]
  return objectsOf(execFileSync('helm', ['template', release, CHART, ...options], { encoding: 'utf8' }))
}

const LEAST = ['kafka.brokers=kafka:9092', 'schemaRegistry.url=http://registry']

/** Arguments with the least values that the chart needs, and these. */
export const set = (...values: string[]): string[] => ['--set', [...LEAST, ...values].join(',')]

export const objectsOf = (text: string): Manifest[] =>
  parseAllDocuments(text).map((document) => object.parse(document.toJS()))
