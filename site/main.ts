import { stderr, stdout } from 'node:process'
import { parseArgs } from 'node:util'
import { messageOf } from '../process/thrown.ts'
import { buildSite } from './build.ts'

// `npm run site` builds site/dist, which control serves under /docs. For another host:
// `npm run site -- --base /sluice/`.
const { folder, pages, broken } = await buildSite(optionsOrExit())
for (const link of broken) stderr.write(`broken link: ${link}\n`)
stdout.write(`${pages} pages in ${folder}\n`)
process.exitCode = broken.length > 0 ? 1 : 0

function optionsOrExit(): { base?: string; folder?: string } {
  try {
    const { values } = parseArgs({ options: { base: { type: 'string' }, folder: { type: 'string' } } })
    const { base = '/' } = values
    if (!/^\/([\w.-]+\/)*$/.test(base))
      throw new Error(`--base must begin and end with a slash, such as /docs/: ${base}`)
    return values
  } catch (error) {
    stderr.write(`${messageOf(error)}\nusage: npm run site [-- --base /PATH/ --folder FOLDER]\n`)
    process.exit(2)
  }
}
