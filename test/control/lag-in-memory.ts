import type { End, GroupTopic, PartitionOffsets } from '../../control/activity/lag/observe.ts'
import type { LagRouteParts } from '../../control/activity/lag/routes.ts'
import type { LagItem } from '../../control/activity/lag/status.ts'

export const aReading = (fields: Partial<GroupTopic> = {}): GroupTopic => ({
  group: 'router',
  topic: 'events',
  delayMs: 0,
  markers: 0,
  ...fields,
})

/** 100 records, 90 of them settled. */
export function aSeen(fields: Partial<PartitionOffsets> = {}): PartitionOffsets {
  const { end = 100 } = fields
  return {
    groupTopic: aReading(),
    partition: 0,
    low: 0,
    end,
    front: end,
    committed: 90,
    metadata: '',
    owned: true,
    ...fields,
  }
}

export const aLagItem = (fields: Partial<LagItem> = {}): LagItem => ({
  group: 'router',
  topic: 'events',
  partition: 0,
  end: 100,
  committed: 90,
  lag: 10,
  lagSeconds: 1.5,
  status: 'ok',
  ...fields,
})

/** The last observation. */
export const lagHeld = (
  items: readonly LagItem[] = [],
  more: Partial<LagRouteParts['lag']> = {},
  ends: readonly End[] = [],
): Pick<LagRouteParts, 'lag' | 'faults'> => ({
  faults: { all: () => [] },
  lag: {
    loaded: Promise.resolve(),
    isLoaded: () => true,
    silentMs: () => 0,
    windowMs: 20_000,
    hour: () => [],
    latest: () => ({ at: Date.parse('2026-01-02T03:04:05.678Z'), items, ends, missing: [] }),
    ...more,
  },
})
