import { createPoster } from '../delivery/post.ts'
import { createEgress } from '../egress/egress.ts'
import { trustedRoots } from '../egress/roots.ts'
import { watchStorage } from '../kafka/admin/storage.ts'
import { watchRooms } from '../kafka/metrics.ts'
import { createFencedWriter } from '../kafka/produce/transactions.ts'
import { probeUntilClosed, run } from '../lifecycle.ts'
import { serveOps } from '../process/metrics.ts'
import { prepare } from '../schemas/prepare.ts'
import { followSettings, watchUnreadable } from '../settings/follow.ts'
import { KINDS } from '../settings/settings.ts'
import { openActivity } from './activity/activity.ts'
import { openLag, watchRetention } from './activity/lag/metrics.ts'
import { createWrongTokenLimit } from './api/auth/tokens.ts'
import { createApp } from './app.ts'
import { resealSettings } from './settings/reseal.ts'
import { openBackground } from './tasks/background.ts'

await run('control', async (context) => {
  const { config, log, connection, onFatal, onAway, closing } = context
  const ca = trustedRoots(config.egress.caFile)
  let ready: () => string | undefined = () => 'the schemas are not registered yet'
  const probe = probeUntilClosed(context, () => ready())
  const { host, port, metricsPort } = config
  closing.adopt(await serveOps({ host, port: metricsPort, probe }), (open) => open.close())
  await prepare(connection, config, onAway)
  const settings = closing.adopt(
    await followSettings({ connection, keys: config.configKeys, kinds: KINDS, onFatal }),
    (open) => open.close(),
  )
  watchUnreadable(settings, KINDS)
  const storage = closing.adopt(watchStorage({ connection, limits: config.storage }), (open) => open.close())
  watchRooms(storage)
  const { table } = settings
  const writer = closing.adopt(
    createFencedWriter({ connection, transactionalId: 'control.config', table }),
    (open) => open.close(),
  )
  const [{ start, ...background }, activity] = await Promise.all([
    openBackground({ ...context, settings, writer }),
    openActivity({ ...context, settings }),
  ])
  const lag = openLag({ ...context, tasks: background.tasks })
  watchRetention({ ...context, lag })
  ready = () =>
    settings.isLoaded() && background.tasks.isLoaded() ? undefined : 'the settings are not loaded yet'
  const egress = closing.adopt(createEgress({ ...config.egress, log }), (open) => open.close())
  const { configKeys: keys, tokens, trustProxy, ingest } = config
  const openPoster = () => createPoster({ limitMs: config.delivery.responseTimeoutMs, egress, ca })
  const app = createApp({
    settings,
    storage,
    writer,
    ...background,
    ...activity,
    ladder: config.delivery,
    lag,
    egress,
    openPoster,
    keys,
    tokens,
    trustProxy,
    ingest,
    wrongTokenLimit: createWrongTokenLimit(() => performance.now()),
    endedSessions: background.tasks.endedSessions,
    probe,
    log,
  })
  closing.adopt(app, (open) => open.close())
  const url = await app.listen({ host, port })
  log.info({ url }, 'control starting')
  await start()
  log.info({ url }, 'control ready')
  await resealSettings({ settings, writer, keys, log })
})
