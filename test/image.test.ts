import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { NODE_FLAGS } from './helpers/node-flags.ts'

const read = (file: string) => readFile(new URL(`../${file}`, import.meta.url), 'utf8')

test('the image has the Node and the flags of npm start', async () => {
  const dockerfile = await read('Dockerfile')
  const { devDependencies } = JSON.parse(await read('package.json'))
  const bases = [...dockerfile.matchAll(/^FROM node:([\d.]+)-/gm)].map(([, version]) => version)
  // one builds the console, the other runs
  expect(bases).toEqual([devDependencies.node, devDependencies.node])
  expect(dockerfile.match(/^ENTRYPOINT .*/m)?.[0].match(/--[^"]+/g)).toEqual(NODE_FLAGS)
})
