import { createPoster } from '../delivery/post/post.ts'
import { createEgress, trustedRoots } from '../egress/egress.ts'
import { BACKLOG } from '../http/connections.ts'
import { serveOps } from '../http/probes.ts'
import { watchStorage } from '../kafka/admin/storage.ts'
import { CLOSE_MS } from '../kafka/client.ts'
import { watchRooms } from '../kafka/metrics.ts'
import { createProducer } from '../kafka/produce/produce.ts'
import { createFencedWriter } from '../kafka/produce/transactions.ts'
import { type Context, close, probeUntilClosed, run } from '../lifecycle.ts'
import { prepareKafka } from '../schemas/prepare-kafka.ts'
import { DEAD, EVENTS } from '../schemas/topics.ts'
import { followSettings, watchUnreadable } from '../settings/follow.ts'
import { KINDS } from '../settings/settings.ts'
import { openActivity } from './activity/activity.ts'
import { openLag, type Retention, watchRetention } from './activity/lag/metrics.ts'
import { createTokenLimits } from './api/auth/tokens.ts'
import type { ConsoleLimits } from './api/console.ts'
import { createApp } from './app.ts'
import { resealSettings } from './settings/write.ts'
import { openBackground } from './tasks/background.ts'

const MAX_AUDIT_BYTES = 8 * 1024 * 1024

await run('control', async (context) => {
  const { config, log, connection, onAway, closing } = context
  const { host, port, metricsPort } = config
  const ca = trustedRoots(config.egress.caFile)
  let ready: () => string | undefined = () => 'the schemas are not registered yet'
  const probe = probeUntilClosed(context, () => ready())
  closing.adopt(await serveOps({ host, port: metricsPort, probe }), close)
  await prepareKafka(connection, config, onAway)
  const { settings, writer } = await openSettings(context)
  const storage = closing.adopt(watchStorage({ connection, limits: config.storage }), close)
  watchRooms(storage)
  const [{ start, ...background }, activity, auditProducer] = await Promise.all([
    openBackground({ ...context, settings, writer }),
    openActivity({ ...context, settings }),
    // its own, so that no task waits for topic audit
    createProducer(connection, { maxQueuedBytes: MAX_AUDIT_BYTES }),
  ])
  closing.adopt(auditProducer, (open) => open.close(CLOSE_MS))
  const lag = openLag({ ...context, tasks: background.tasks })
  const retention = watchRetention({ ...context, lag })
  const { endedSessions } = background.tasks
  const opened = { ...background, ...activity, auditProducer }
  const known = { settings, writer, storage, lag, probe, log, endedSessions, ...opened }
  const consoleLimits = () => limitsOf(context.config, retention)
  const app = createApp({ ...known, consoleLimits, ...configured(context, ca) })
  closing.adopt(app, close)
  const url = await app.listen({ host, port, backlog: BACKLOG })
  ready = () =>
    settings.isLoaded() && background.tasks.isLoaded() ? undefined : 'the settings are not loaded yet'
  log.info({ url }, 'control starting')
  await start(activity)
  log.info({ url }, 'control ready')
  await resealSettings({ settings, writer, keys: config.configKeys, log })
})

async function openSettings({ config, connection, closing, onFatal }: Context) {
  const settings = closing.adopt(
    await followSettings({ connection, keys: config.configKeys, kinds: KINDS, onFatal }),
    close,
  )
  watchUnreadable(settings, KINDS)
  const transactionalId = 'control.config'
  const writer = createFencedWriter({ connection, transactionalId, table: settings.table })
  return { settings, writer: closing.adopt(writer, close) }
}

function configured({ config, closing, log }: Context, ca: ReturnType<typeof trustedRoots>) {
  const { configKeys: keys, tokens, oidc, trustProxy, ingest, delivery } = config
  const egress = closing.adopt(createEgress({ ...config.egress, log }), close)
  const openPoster = () => createPoster({ limitMs: delivery.responseTimeoutMs, egress, ca })
  const tokenLimits = createTokenLimits(() => performance.now())
  return { keys, tokens, oidc, trustProxy, ingest, ladder: delivery, egress, openPoster, tokenLimits }
}

function limitsOf({ delivery }: Context['config'], retention: Retention): ConsoleLimits {
  return {
    responseTimeoutMs: delivery.responseTimeoutMs,
    retryWindowMs: delivery.windowMs,
    retryDelays: delivery.ladder.map(({ name }) => name),
    eventsKeptMs: retention.of(EVENTS) ?? null,
    deadKeptMs: retention.of(DEAD) ?? null,
  }
}
