import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import ms, { type StringValue } from 'ms'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { SETTINGS } from '../../config.ts'
import { SHUTDOWN_MS } from '../../lifecycle.ts'
import type { Role } from '../../settings/config-key.ts'
import { configOf, opsPort, ROLES } from './settings.ts'

const file = new URL('../../docker-compose.yml', import.meta.url)
const text = await readFile(file, 'utf8')

const one = z.looseObject({
  command: z.string(),
  /** Null: from the outer environment, if it is set there. */
  environment: z.record(z.string(), z.string().nullable()),
  init: z.literal(true),
  read_only: z.literal(true),
  cap_drop: z.tuple([z.literal('ALL')]),
  security_opt: z.tuple([z.literal('no-new-privileges:true')]),
  stop_grace_period: z.string(),
  healthcheck: z.object({
    test: z.tuple([z.literal('CMD'), z.literal('node'), z.literal('-e'), z.string()]),
    interval: z.string(),
    timeout: z.string(),
    retries: z.number(),
    start_period: z.string(),
    start_interval: z.string(),
  }),
  ports: z.array(z.string()).default([]),
})
const watching = z.looseObject({
  profiles: z.tuple([z.literal('watch')]),
  volumes: z.array(z.string()),
  ports: z.array(z.string()),
})
const { services } = z
  .object({
    services: z.looseObject({
      ingest: one,
      router: one,
      deliverer: one,
      control: one,
      prometheus: watching,
      grafana: watching,
    }),
  })
  .parse(parse(text, { merge: true }), { reportInput: true })

/** As compose fills in `${NAME:-default}` and `${NAME:?what is missing}` when nothing is set. */
const unset = (value: string) =>
  value.replace(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, _name, sign, rest) => (sign === '-' ? rest : ''))

/** Without what comes from outside. */
const environmentOf = (role: Role): Record<string, string> =>
  Object.fromEntries(
    Object.entries(services[role].environment).flatMap(([name, value]) =>
      value === null ? [] : [[name, unset(value)] as const],
    ),
  )

describe.each(ROLES)('%s in docker-compose.yml', (role) => {
  const { command, environment, healthcheck, ports, stop_grace_period } = services[role]
  const given = Object.values(environment).filter((value) => value !== null)
  const env = environmentOf(role)

  test('is its own program', () => {
    expect(command).toBe(`${role}/main.ts`)
    expect(existsSync(new URL(command, file))).toBe(true)
  })

  test('is given settings that there are, and that it starts with', () => {
    const asked = given.flatMap((value) => value.match(/(?<=\$\{)\w+/g) ?? [])
    expect([...Object.keys(environment), ...asked].filter((name) => !SETTINGS.includes(name))).toEqual([])
    expect(configOf(role, env).kafka).toMatchObject({ replication: 3, brokers: { length: 3 } })
  })

  test('is asked where it answers, and published where it listens', () => {
    const config = configOf(role, env)
    expect(healthcheck.test[3]).toContain(`'http://127.0.0.1:${opsPort(config)}/readyz'`)
    for (const port of ports) expect(port).toMatch(new RegExp(`:${config.port}$`))
  })

  test('has the time that it takes to end', () => {
    expect(ms(stop_grace_period as StringValue)).toBeGreaterThan(SHUTDOWN_MS)
  })
})

test('every setting is said or handed on, but those of addresses, ports, files, and a Kafka elsewhere', () => {
  const named = new Set(ROLES.flatMap((role) => Object.keys(services[role].environment)))
  expect(SETTINGS.filter((name) => !named.has(name)).toSorted()).toEqual([
    'CONTROL_METRICS_PORT',
    'CONTROL_PORT',
    'DELIVERER_PORT',
    'EGRESS_CA',
    'HOST',
    'INGEST_METRICS_PORT',
    'INGEST_PORT',
    'KAFKA_SASL_MECHANISM',
    'KAFKA_SASL_PASSWORD',
    'KAFKA_SASL_USERNAME',
    'KAFKA_SSL',
    'KAFKA_SSL_CA',
    'KAFKA_SSL_CERT',
    'KAFKA_SSL_KEY',
    'OTEL_EXPORTER_OTLP_CERTIFICATE',
    'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
    'OTEL_EXPORTER_OTLP_CLIENT_KEY',
    'OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE',
    'OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE',
    'OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY',
    'OTEL_SERVICE_NAME',
    'ROUTER_PORT',
    'SCHEMA_REGISTRY_CA',
  ])
})

test('a mounted script checks brokers without a JVM, and brokers send several heartbeats per session timeout', () => {
  const broker = z.looseObject({
    healthcheck: z.looseObject({ test: z.tuple([z.literal('CMD-SHELL'), z.string()]) }),
    volumes: z.array(z.string()),
    environment: z.looseObject({
      KAFKA_NODE_ID: z.number(),
      KAFKA_BROKER_SESSION_TIMEOUT_MS: z.coerce.number(),
      KAFKA_BROKER_HEARTBEAT_INTERVAL_MS: z.coerce.number(),
    }),
  })
  for (const name of ['kafka-1', 'kafka-2', 'kafka-3']) {
    const { healthcheck, volumes, environment } = broker.parse(services[name])
    const [source = '', target = ''] = volumes.at(-1)?.split(':') ?? []
    expect(healthcheck.test[1]).toBe(`bash ${target} "$$KAFKA_NODE_ID"`)
    expect(existsSync(new URL(source, file))).toBe(true)
    expect(name).toBe(`kafka-${environment.KAFKA_NODE_ID}`)
    // otherwise Kafka takes a busy broker out of the cluster
    const heartbeats =
      environment.KAFKA_BROKER_SESSION_TIMEOUT_MS / environment.KAFKA_BROKER_HEARTBEAT_INTERVAL_MS
    expect(heartbeats).toBeGreaterThanOrEqual(4)
  }
})

describe('with --profile watch', () => {
  const mounts = ({ volumes }: z.infer<typeof watching>) =>
    volumes.flatMap((volume) => {
      const [source = '', target = ''] = volume.split(':')
      return source.startsWith('./') ? [{ source: source.slice(2), target }] : []
    })

  test('Prometheus and Grafana find what is mounted, and nobody elsewhere reaches them', async () => {
    const mounted = [...mounts(services.prometheus), ...mounts(services.grafana)]
    expect(mounted.map(({ source }) => source)).toEqual([
      'ops/prometheus',
      'ops/grafana/provisioning',
      'ops/grafana/sluice.json',
    ])
    expect(mounted.filter(({ source }) => !existsSync(new URL(source, file)))).toEqual([])
    const provider = await readFile(new URL('ops/grafana/provisioning/dashboards/sluice.yml', file), 'utf8')
    expect(`${parse(provider).providers[0].options.path}/sluice.json`).toBe(mounted.at(-1)?.target)
    for (const port of [...services.prometheus.ports, ...services.grafana.ports])
      expect(port).toMatch(/^127\.0\.0\.1:/)
  })

  test('Prometheus asks each process where it answers', async () => {
    const config = parse(await readFile(new URL('ops/prometheus/compose.yml', file), 'utf8'))
    const asked = z
      .array(
        z.object({
          job_name: z.string(),
          dns_sd_configs: z.tuple([z.object({ names: z.array(z.string()), port: z.number() })]),
        }),
      )
      .parse(config.scrape_configs)
    const expected = ROLES.map((role) => [role, [role], opsPort(configOf(role, environmentOf(role)))])
    expect(asked.map(({ job_name, dns_sd_configs: [{ names, port }] }) => [job_name, names, port])).toEqual(
      expected,
    )
  })
})

const here = fileURLToPath(new URL('.', import.meta.url))

/** Compose's own loader: anchors, variables, schema, and references between services. */
const load = (env: Record<string, string>) =>
  spawnSync('go', ['run', 'load_compose.go', fileURLToPath(file)], {
    cwd: here,
    env: { ...process.env, ...env },
    encoding: 'utf8',
  })

// Go or its modules may be missing; .ci/run installs and fetches them
const canLoad = spawnSync('go', ['build', '-o', '/dev/null', 'load_compose.go'], { cwd: here }).status === 0

test.skipIf(!canLoad)('docker-compose.yml is what compose takes, once the secrets are given', () => {
  const given = {
    CONFIG_KEY: 'a key',
    CONTROL_TOKEN: 'a token',
    CONTROL_VIEW_TOKEN: '',
    PARTITIONS: '3',
    RETRY_LADDER: '1s,5s',
  }
  const { stdout, stderr } = load(given)
  expect(stderr).toBe('')
  expect(JSON.parse(stdout).services.control.environment).toMatchObject(given)
  expect(load({ CONFIG_KEY: 'a key', CONTROL_TOKEN: '' }).stderr).toMatch(/CONTROL_TOKEN is missing/)
})
