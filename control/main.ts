import { createEgress } from '../egress/egress.ts'
import { createFencedWriter } from '../kafka/fenced.ts'
import { probeUntilClosed, run } from '../lifecycle.ts'
import { followSettings } from '../schemas/follow.ts'
import { prepare } from '../schemas/prepare.ts'
import { KINDS } from '../schemas/settings.ts'
import { createApp } from './app.ts'

await run('control', async ({ config, log, connection, onFatal, closing }) => {
  await prepare(connection, config)
  const settings = closing.adopt(
    await followSettings({ connection, keys: config.configKeys, kinds: KINDS, onFatal }),
    (open) => open.close(),
  )
  const { table } = settings
  const writer = closing.adopt(
    createFencedWriter({ connection, transactionalId: 'control.config', table }),
    (open) => open.close(),
  )
  const probe = probeUntilClosed(closing, () =>
    settings.isLoaded() ? undefined : 'the settings are not loaded yet',
  )
  const egress = closing.adopt(createEgress(config.egress), (open) => open.close())
  const { configKeys: keys, tokens } = config
  const app = createApp({ settings, writer, egress, keys, tokens, probe, log })
  closing.adopt(app, (open) => open.close())
  const url = await app.listen({ host: config.host, port: config.port })
  log.info({ url }, 'control starting')
  await settings.loaded
  log.info({ url }, 'control ready')
})
