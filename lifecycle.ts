import { type Config, readConfig } from './config.ts'
import { type Probe, serveOps } from './http/probes.ts'
import { type Connection, connect } from './kafka/client.ts'
import { countAck, watchProducer } from './kafka/metrics.ts'
import { createProducer, type Producer } from './kafka/produce/produce.ts'
import { ConfigError } from './process/config-error.ts'
import { createLog, createLogLimit, type Logger } from './process/log.ts'
import { exposeBuildInfo } from './process/metrics.ts'
import { asError } from './process/thrown.ts'
import { SCHEMA_WAIT_MS } from './schemas/avro/writer-schemas.ts'
import type { VariantCodec } from './schemas/codec.ts'
import type { Delivery } from './schemas/delivery.ts'
import { prepareKafka } from './schemas/prepare-kafka.ts'
import { type OnAway, openCodec, openRegistry, type Registry } from './schemas/registry.ts'
import { DELIVERIES } from './schemas/topics.ts'
import type { Role } from './settings/config-key.ts'
import { followSettings, type Settings, watchUnreadable } from './settings/follow.ts'
import { openTracer } from './trace/open.ts'
import type { Tracer } from './trace/trace.ts'

export type Context = {
  config: Config
  log: Logger
  connection: Connection
  tracer: Tracer | undefined
  /** Ends the process with code 1: its supervisor restarts it. */
  onFatal: (error: Error) => void
  /** The start waits for the schema registry. */
  onAway: OnAway
  waitsFor: () => string | undefined
  /** Closed in reverse order, intake first. */
  closing: AsyncDisposableStack
}

/** For `closing.adopt`. */
export const close = (open: { close(): void | Promise<void> }): void | Promise<void> => open.close()

/** Longer than the 10 s for work in flight. Supervisors must wait longer. */
export const SHUTDOWN_MS = 15_000

/**
 * SIGTERM and SIGINT shut the process down in order. Exit codes: 0 ended, 1 failed, 2 wrong settings.
 * @param assemble opens everything, and adds what must be closed to `closing`.
 */
export async function run(
  role: Role,
  assemble: (context: Context) => Promise<void>,
  shutdownMs = SHUTDOWN_MS,
): Promise<void> {
  const config = orExit(() => readConfig(process.env, role))
  const log = createLog({ role, level: config.logLevel })
  // the operating system chooses one
  const at = config.port === 0 ? undefined : `${config.host}:${config.port}`
  const connection = orExit(() => connect(config.kafka, { clientId: `sluice-${role}`, at, log }))
  exposeBuildInfo(role)
  const closing = new AsyncDisposableStack()
  const waiting = createWaiting(log)
  const { end, isEnding } = createEnding({ closing, log, shutdownMs })
  let assembled = false

  function onFatal(err: Error): void {
    // a running process reports the fault at its next start
    if (err instanceof ConfigError && !assembled) exitFor(err)
    const settings = portTaken(err, config)
    log.fatal(
      settings === undefined ? { err } : { err, settings },
      'stopping after a fatal error; uncommitted work is repeated after a restart',
    )
    void end(1, 'failed')
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void end(0, signal))
  process.on('unhandledRejection', (error) => onFatal(asError(error)))
  process.on('uncaughtException', onFatal)
  try {
    const tracer = await openTracer(config.traces, log)
    // added first, closed last
    if (tracer) closing.defer(() => tracer.close())
    await assemble({ config, log, connection, tracer, onFatal, ...waiting, closing })
    assembled = true
  } catch (error) {
    // expected, because resources are already closed
    if (isEnding()) log.debug({ err: error }, 'ended before it was ready')
    else onFatal(asError(error))
  }
}

type Ending = Pick<Context, 'closing' | 'log'> & { shutdownMs: number }

function createEnding({ closing, log, shutdownMs }: Ending) {
  let isEnding = false

  async function end(code: number, reason: string): Promise<void> {
    if (isEnding) return
    isEnding = true
    log.info({ reason }, 'ending')
    const limit = setTimeout(() => {
      log.error(
        { seconds: shutdownMs / 1_000 },
        'closing takes too long: exiting before everything is closed',
      )
      log.flush()
      process.exit(code || 1)
    }, shutdownMs)
    await closing.disposeAsync().catch((err) => log.error({ err }, 'not everything could be closed in order'))
    clearTimeout(limit)
    log.flush()
    process.exit(code)
  }

  return { end, isEnding: () => isEnding }
}

/** The port may belong to a process that is just ending. */
function portTaken(error: Error, { role, port, metricsPort }: Config): string | undefined {
  if (!('port' in error) || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return undefined
  if (error.port === port) return `${role.toUpperCase()}_PORT`
  return error.port === metricsPort ? `${role.toUpperCase()}_METRICS_PORT` : undefined
}

function exitFor({ message }: ConfigError): never {
  process.stderr.write(`${message}\n`)
  process.exit(2)
}

function orExit<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    exitFor(error)
  }
}

/** The registry is tried about once a second. */
const REPEAT_MS = 10_000

function createWaiting(log: Logger): Pick<Context, 'onAway' | 'waitsFor'> {
  let present: string | undefined
  const mayLog = createLogLimit(REPEAT_MS)
  return {
    waitsFor: () => present,
    onAway(what) {
      if (!what && present) log.info('the schema registry answers')
      present = what && `the schema registry cannot be reached: ${what}`
      if (what && mayLog('registry'))
        log.warn({ registry: what }, 'the schema registry cannot be reached; the start waits for it')
    },
  }
}

/** `ending` before anything is closed, or what the start waits for. */
export function probeUntilClosed(
  { closing, waitsFor }: Pick<Context, 'closing' | 'waitsFor'>,
  notReady: Probe['notReady'],
): Probe {
  return { notReady: () => (closing.disposed ? 'ending' : (waitsFor() ?? notReady())) }
}

export type CommonParts = {
  registry: Registry
  deliveries: VariantCodec<Delivery>
  settings: Settings
  /** Its queue has no limit: both processes hold their partitions instead. */
  producer: Producer
}

/** Starts with the port for probes and metrics. */
export async function openCommon(context: Context, notReady: Probe['notReady']): Promise<CommonParts> {
  const { config, log, connection, onFatal, onAway, closing } = context
  const probe = probeUntilClosed(context, notReady)
  const ops = closing.adopt(await serveOps({ host: config.host, port: config.port, probe }), close)
  log.info({ port: ops.port }, `${config.role} starting`)
  await prepareKafka(connection, config, onAway)
  const registry = openRegistry(config.registry, { onAway, waitMs: SCHEMA_WAIT_MS })
  const deliveries = await openCodec(registry, 'delivery', `${connection.named(DELIVERIES)}-value`)
  const settings = closing.adopt(
    await followSettings({ connection, keys: config.configKeys, onFatal }),
    close,
  )
  watchUnreadable(settings, ['source', 'destination'])
  const producer = closing.adopt(
    await createProducer(connection, { maxQueuedBytes: Number.POSITIVE_INFINITY, onAck: countAck }),
    close,
  )
  watchProducer(producer)
  return { registry, deliveries, settings, producer }
}
