import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const files = globSync('**/*.{ts,tsx}', {
  exclude: (path) => /(^|\/)(node_modules|dist|\.git|\.sluice)$/.test(path),
})

/** The first folder; in control, the second. A file outside of them is its own room. */
function roomOf(path: string): string {
  const folders = dirname(path).split('/')
  const depth = folders[0] === 'control' ? 2 : 1
  return folders[0] === '.' || folders.length < depth ? path : folders.slice(0, depth).join('/')
}

/** At run time: types do not count. */
const needs = new Map<string, Set<string>>()
for (const from of files)
  for (const [, path = ''] of readFileSync(from, 'utf8').matchAll(
    /^(?:import|export) (?!type )[^;']*?from '(\.[^']+)'/gm,
  )) {
    const [room, needed] = [roomOf(from), roomOf(join(dirname(from), path))]
    if (room !== needed) needs.set(room, (needs.get(room) ?? new Set()).add(needed))
  }

const isDone = new Set<string>()

function circleFrom(room: string, path: readonly string[] = []): readonly string[] | undefined {
  if (path.includes(room)) return [...path.slice(path.indexOf(room)), room]
  for (const needed of needs.get(room) ?? []) {
    const circle = isDone.has(needed) ? undefined : circleFrom(needed, [...path, room])
    if (circle) return circle
  }
  isDone.add(room)
  return undefined
}
test('imports between rooms point one way', () => {
  expect(needs.get('control/tasks')).toContain('control/activity')
  const circles = [...needs.keys()].map((room) => circleFrom(room))
  expect(circles.find((circle) => circle !== undefined)).toBeUndefined()
})
