import type { Fault } from './plan.ts'
import type { Sluice } from './sluice.ts'

/** The destination whose settings change. Events need not reach it while it is off or missing. */
export const CHANGING = 'changing'

type Change = Extract<Fault, { kind: 'settings' }>['change']
/** As in control's API. */
type Current = { id: string; version: number; webhooks: { url: string }[] }

/** Skips what control refuses. Without the destination, every change creates it. */
export async function change(
  sluice: Pick<Sluice, 'api'>,
  what: Change,
  urls: readonly string[],
): Promise<void> {
  try {
    const { items } = (await sluice.api('GET', 'destinations?limit=1000')) as { items: Current[] }
    const now = items.find(({ id }) => id === CHANGING)
    if (!now) return void (await sluice.api('POST', 'destinations', destination(CHANGING, [urls[0] ?? ''])))
    if (what === 'remove') return void (await sluice.api('DELETE', `destinations/${CHANGING}`))
    const at = now.webhooks[0]?.url
    const url = what === 'move' ? (urls.find((other) => other !== at) ?? '') : (at ?? '')
    const json = { ...destination(CHANGING, [url]), enabled: what !== 'off', paused: what === 'pause' }
    await sluice.api('PUT', `destinations/${CHANGING}`, json, now.version)
  } catch (error) {
    process.stderr.write(`    settings: ${error instanceof Error ? error.message : error}\n`)
  }
}

export const destination = (id: string, urls: readonly string[]) => ({
  id,
  name: id,
  sourceIds: ['shop'],
  sharedSecret: 'torture-secret',
  enabled: true,
  webhooks: urls.map((url) => ({ url })),
})
