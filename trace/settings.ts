import { z } from 'zod'

/** From OpenTelemetry's own variables. Times in ms. */
export type TraceSettings = {
  serviceName: string
  attributes: Record<string, string>
  sampler: { name: Sampler; ratio: number }
  /** Whether records carry W3C Trace Context. */
  carries: boolean
  exporter: { protocol: Protocol; url: string; timeoutMs: number }
  batch: { delayMs: number; timeoutMs: number; maxQueued: number; maxBatch: number }
}

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const
export type Sampler = (typeof SAMPLERS)[number]

const PROTOCOLS = ['http/protobuf', 'http/json'] as const
export type Protocol = (typeof PROTOCOLS)[number]

/** The specification allows words in any case. */
const word = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z
    .string()
    .toLowerCase()
    .trim()
    .pipe(z.enum(words, `one of ${words.join(', ')}`))

const endpoint = z.url({
  protocol: /^https?$/,
  error: 'must be a URL beginning with http:// or https://',
})
/** Read by the exporter itself, which accepts no other words. */
const compression = z.enum(['gzip', 'none'], 'one of gzip, none')
/** The limit of a timer. */
const MOST_MS = 2 ** 31 - 1
const ms = (least: number) => z.coerce.number('a number of milliseconds').int().min(least).max(MOST_MS)
const count = z.coerce.number('a whole number').int().min(1)

const propagators = z
  .string()
  .toLowerCase()
  .transform((text) => text.split(',').map((name) => name.trim()))
  .pipe(z.array(z.enum(['tracecontext', 'baggage', 'none'], 'tracecontext, baggage (never carried), none')))

/** `key=value` with commas, percent-encoded (specification: Resource SDK). */
const attributes = z.string().transform((text, ctx) => {
  const found: Record<string, string> = {}
  for (const pair of text.split(',').filter((part) => part.trim() !== '')) {
    const [key, value, ...more] = pair.split('=').map(decoded)
    if (key && value !== undefined && more.length === 0) found[key] = value
    else
      ctx.addIssue('must be key=value pairs with commas; write a comma, = or % within them as %2C, %3D, %25')
  }
  return found
})

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.trim())
  } catch {
    return undefined
  }
}

const switches = z.object({
  OTEL_SDK_DISABLED: word(['true', 'false']).default('false'),
  OTEL_TRACES_EXPORTER: word(['otlp', 'none']).optional(),
})

const environment = z
  .object({
    OTEL_SERVICE_NAME: z.string().optional(),
    OTEL_RESOURCE_ATTRIBUTES: attributes.default({}),
    OTEL_TRACES_SAMPLER: word(SAMPLERS).default('parentbased_always_on'),
    OTEL_TRACES_SAMPLER_ARG: z.string().default('1'),
    OTEL_PROPAGATORS: propagators.default(['tracecontext']),
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint.default('http://localhost:4318'),
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint.optional(),
    OTEL_EXPORTER_OTLP_PROTOCOL: word(PROTOCOLS).default('http/protobuf'),
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: word(PROTOCOLS).optional(),
    OTEL_EXPORTER_OTLP_TIMEOUT: ms(1).default(10_000),
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: ms(1).optional(),
    OTEL_EXPORTER_OTLP_COMPRESSION: compression.optional(),
    OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: compression.optional(),
    OTEL_BSP_SCHEDULE_DELAY: ms(0).default(5_000),
    OTEL_BSP_EXPORT_TIMEOUT: ms(1).default(30_000),
    OTEL_BSP_MAX_QUEUE_SIZE: count.default(2_048),
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: count.optional(),
  })
  .superRefine((env, ctx) => {
    const fault = (name: keyof typeof env, message: string) =>
      ctx.addIssue({ code: 'custom', path: [name], message })
    if (env.OTEL_TRACES_SAMPLER.endsWith('traceidratio') && !isRatio(env.OTEL_TRACES_SAMPLER_ARG))
      fault('OTEL_TRACES_SAMPLER_ARG', 'a number from 0 to 1')
    if ((env.OTEL_BSP_MAX_EXPORT_BATCH_SIZE ?? 0) > env.OTEL_BSP_MAX_QUEUE_SIZE)
      fault('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 'more than OTEL_BSP_MAX_QUEUE_SIZE')
  })

const BY_SDK = ['HEADERS', 'CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY'].flatMap((name) => [
  `OTEL_EXPORTER_OTLP_${name}`,
  `OTEL_EXPORTER_OTLP_TRACES_${name}`,
])

export const TRACE_SETTINGS: readonly string[] = [
  ...Object.keys(switches.shape),
  ...Object.keys(environment.shape),
  ...BY_SDK,
]

const isRatio = (text: string) => text.trim() !== '' && Number(text) >= 0 && Number(text) <= 1

type Env = Readonly<Record<string, string | undefined>>
export type ReadTraces = { settings?: TraceSettings; issues: readonly z.core.$ZodIssue[] }

/**
 * Traces are off without an endpoint or exporter, and with OTEL_TRACES_EXPORTER=none or OTEL_SDK_DISABLED=true. The
 * rest is then not checked: it may be meant for other programs.
 * @param given without empty variables.
 */
export function readTraces(given: Env, role: string): ReadTraces {
  const switched = switches.safeParse(given)
  if (!switched.success) return { issues: switched.error.issues }
  const { OTEL_SDK_DISABLED: disabled, OTEL_TRACES_EXPORTER: exporter } = switched.data
  if (disabled === 'true' || exporter === 'none' || (exporter === undefined && !namesEndpoint(given)))
    return { issues: [] }
  const parsed = environment.safeParse(given)
  if (!parsed.success) return { issues: parsed.error.issues }
  return { settings: settingsOf(parsed.data, role), issues: [] }
}

const namesEndpoint = (given: Env) =>
  given.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined || given.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT !== undefined

function settingsOf(env: z.infer<typeof environment>, role: string): TraceSettings {
  const { 'service.name': named, ...attributes } = env.OTEL_RESOURCE_ATTRIBUTES
  const queued = env.OTEL_BSP_MAX_QUEUE_SIZE
  return {
    serviceName: env.OTEL_SERVICE_NAME ?? named ?? `sluice-${role}`,
    attributes,
    sampler: { name: env.OTEL_TRACES_SAMPLER, ratio: Number(env.OTEL_TRACES_SAMPLER_ARG) },
    carries: env.OTEL_PROPAGATORS.includes('tracecontext'),
    exporter: {
      protocol: env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? env.OTEL_EXPORTER_OTLP_PROTOCOL,
      // the endpoint for traces is complete, the common one is a base (specification: OTLP exporter)
      url: env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? below(env.OTEL_EXPORTER_OTLP_ENDPOINT),
      timeoutMs: env.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT ?? env.OTEL_EXPORTER_OTLP_TIMEOUT,
    },
    batch: {
      delayMs: env.OTEL_BSP_SCHEDULE_DELAY,
      timeoutMs: env.OTEL_BSP_EXPORT_TIMEOUT,
      maxQueued: queued,
      maxBatch: env.OTEL_BSP_MAX_EXPORT_BATCH_SIZE ?? Math.min(512, queued),
    },
  }
}

const below = (base: string) => `${base.replace(/\/$/, '')}/v1/traces`
