import { expect, test } from 'vitest'
import { logShortage, notReady } from '../../ingest/readiness.ts'
import type { Room } from '../../kafka/admin/storage.ts'

const disk: Room = { of: 'disk', free: 1, reserve: 2 }
const state = ({
  isLoaded = true,
  isListening = true,
  stalledMs = 0,
  shortage = undefined as Room | undefined,
}) =>
  notReady(
    { isLoaded: () => isLoaded },
    { stalledMs: () => stalledMs },
    { shortage: () => shortage },
    isListening,
  )

test('ingest is not ready before its settings are loaded and its port is open, while storage is short, and while Kafka does not answer', () => {
  expect(state({})).toBeUndefined()
  expect(state({ isLoaded: false })).toBe('the settings are not loaded yet')
  expect(state({ isListening: false })).toBe('the port for calls is not open yet')
  expect(state({ shortage: disk })).toBe("Kafka's disk is almost full")
  expect(state({ shortage: { ...disk, of: 'limit' } })).toBe(
    "Sluice's topics have almost reached STORAGE_LIMIT",
  )
  expect(state({ stalledMs: 5_001 })).toBe('Kafka has not acknowledged for 5 s')
})

test('a shortage is logged as one warning with the space left, and its end as one line', () => {
  const said: unknown[][] = []
  const say = logShortage({
    warn: (...of: unknown[]) => said.push(of),
    info: (...of: unknown[]) => said.push(of),
  })
  say(disk)
  say(undefined)
  expect(said).toEqual([
    [
      { free: 1, reserve: 2 },
      "Kafka's disk is almost full: calls are refused (503 storage_full) until it has room",
    ],
    ['storage has room again: calls are accepted'],
  ])
})
