import { stderr, stdout } from 'node:process'
import { parseArgs } from 'node:util'
import { buildSite } from './build.ts'

// `npm run site` builds site/dist, which control serves under /docs. For another host:
// `npm run site -- --base /sluice/`.
const { values } = parseArgs({ options: { base: { type: 'string' }, folder: { type: 'string' } } })
const { folder, pages, broken } = await buildSite(values)
for (const link of broken) stderr.write(`broken link: ${link}\n`)
stdout.write(`${pages} pages in ${folder}\n`)
process.exitCode = broken.length > 0 ? 1 : 0
