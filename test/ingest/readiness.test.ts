import { expect, test } from 'vitest'
import { notReady } from '../../ingest/readiness.ts'
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
