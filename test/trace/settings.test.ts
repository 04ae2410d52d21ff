import { expect, test } from 'vitest'
import { readConfig } from '../../config.ts'
import { ConfigError } from '../../process/config-error.ts'

const least = {
  KAFKA_BROKERS: 'a:9092',
  SCHEMA_REGISTRY_URL: 'http://registry:8081',
  CONFIG_KEY: Buffer.alloc(32, 'key 1 of the tests').toString('base64'),
}
type Env = Record<string, string>

const traces = (env: Env, role: 'ingest' | 'router' = 'ingest') =>
  readConfig({ ...least, ...env }, role).traces
const on = (env: Env) => traces({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', ...env })

function faults(env: Env): readonly string[] {
  try {
    traces(env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.faults
    throw error
  }
}

test.each<[string, Env]>([
  ['nothing is said', {}],
  ['what is said is empty', { OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_TRACES_EXPORTER: '' }],
  ['neither an endpoint nor an exporter is named', { OTEL_TRACES_SAMPLER: 'always_on' }],
  ['the exporter is none', { OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a' }],
  ['the SDK is disabled', { OTEL_SDK_DISABLED: 'TRUE', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a' }],
])('off where %s', (_, env) => {
  expect(traces(env)).toBeUndefined()
})

test('while off, settings for other programs are not checked', () => {
  expect(faults({ OTEL_TRACES_SAMPLER: 'xray', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).toEqual([])
})

test('an endpoint turns them on, with the defaults of the specification and a name for each process', () => {
  const settings = {
    serviceName: 'sluice-router',
    attributes: {},
    sampler: { name: 'parentbased_always_on', ratio: 1 },
    carries: true,
    exporter: {
      protocol: 'http/protobuf',
      url: 'http://collector:4318/v1/traces',
      timeoutMs: 10_000,
    },
    batch: { delayMs: 5_000, timeoutMs: 30_000, maxQueued: 2_048, maxBatch: 512 },
  }
  expect(traces({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' }, 'router')).toEqual(settings)
})

test('an exporter turns them on too, to a collector on this machine', () => {
  expect(traces({ OTEL_TRACES_EXPORTER: 'otlp' })?.exporter.url).toBe('http://localhost:4318/v1/traces')
})

test('settings of traces win over those of all signals, and their endpoint is used as it is', () => {
  const settings = on({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/in?tenant=1',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'HTTP/JSON',
    OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '2000',
  })
  expect(settings?.exporter).toEqual({
    protocol: 'http/json',
    url: 'https://traces.example/in?tenant=1',
    timeoutMs: 2_000,
  })
})

test('the service name comes from its own variable, else from the resource attributes', () => {
  const attributes = 'service.name=shop, deployment.environment.name=a%2Cb%3D1 ,'
  expect(on({ OTEL_RESOURCE_ATTRIBUTES: attributes })).toMatchObject({
    serviceName: 'shop',
    attributes: { 'deployment.environment.name': 'a,b=1' },
  })
  const both = { OTEL_RESOURCE_ATTRIBUTES: attributes, OTEL_SERVICE_NAME: 'mine' }
  expect(on(both)?.serviceName).toBe('mine')
})

test('sampler, propagators and batches follow their variables', () => {
  expect(
    on({
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
      OTEL_PROPAGATORS: 'none',
      OTEL_BSP_MAX_QUEUE_SIZE: '100',
      OTEL_BSP_SCHEDULE_DELAY: '200',
    }),
  ).toMatchObject({
    sampler: { name: 'parentbased_traceidratio', ratio: 0.01 },
    carries: false,
    batch: { maxQueued: 100, maxBatch: 100, delayMs: 200 },
  })
  expect(on({ OTEL_PROPAGATORS: 'tracecontext,baggage' })?.carries).toBe(true)
  expect(on({ OTEL_TRACES_SAMPLER_ARG: 'endpoint=http://elsewhere' })?.sampler.name).toBe(
    'parentbased_always_on',
  )
})

test('all invalid settings are reported, with other faults', () => {
  const wrong = {
    LOG_LEVEL: 'loud',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'zstd',
    OTEL_EXPORTER_OTLP_TIMEOUT: '10s',
    OTEL_PROPAGATORS: 'tracecontext,b3',
    OTEL_RESOURCE_ATTRIBUTES: 'a=1,b',
    OTEL_TRACES_SAMPLER: 'jaeger_remote',
    OTEL_BSP_MAX_QUEUE_SIZE: '0',
  }
  expect(
    faults(wrong)
      .map((fault) => fault.slice(0, fault.indexOf(':')))
      .toSorted(),
  ).toEqual(Object.keys(wrong).toSorted())
})

test.each<[Env, string]>([
  [{ OTEL_SDK_DISABLED: 'yes' }, 'OTEL_SDK_DISABLED: one of true, false'],
  [{ OTEL_TRACES_EXPORTER: 'zipkin' }, 'OTEL_TRACES_EXPORTER: one of otlp, none'],
  [
    { OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    'OTEL_EXPORTER_OTLP_PROTOCOL: one of http/protobuf, http/json',
  ],
  [
    { OTEL_TRACES_EXPORTER: 'otlp', OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '1.5' },
    'OTEL_TRACES_SAMPLER_ARG: a number from 0 to 1',
  ],
  [
    { OTEL_TRACES_EXPORTER: 'otlp', OTEL_BSP_MAX_QUEUE_SIZE: '10', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '11' },
    'OTEL_BSP_MAX_EXPORT_BATCH_SIZE: more than OTEL_BSP_MAX_QUEUE_SIZE',
  ],
])('%j is refused', (env, fault) => {
  expect(faults(env)).toEqual([fault])
})
