import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { controlDescription } from '../../control/description.ts'
import { describe } from '../../ingest/openapi.ts'
import { table } from '../markdown.ts'
import type { GeneratedPage } from '../pages.ts'
import { goPackage } from './go.ts'
import { nodePackage } from './node.ts'
import { apiPages } from './openapi.ts'

const GO = 'github.com/sluice-dev/sluice/clients/go'

export type References = {
  pages: GeneratedPage[]
  /** Files to download, by path in the site. */
  files: ReadonlyMap<string, string>
}

/** Generates pages from the code of the APIs and client libraries. */
export async function references(root: string): Promise<References> {
  const control = await controlDescription()
  const ingest = JSON.stringify(describe())
  const page = (title: string, path: string, text: string) => ({ title, path, text })
  const [node, go, segment] = ['Node library: API', 'Go library: API', 'Go library: analytics-go']
  return {
    pages: [
      ...apiPages(JSON.parse(control), { title: 'Control API', folder: 'reference/control' }),
      ...apiPages(JSON.parse(ingest), { title: 'Ingest API', folder: 'reference/ingest-api' }),
      page(node, 'reference/node.md', nodePackage(node, 'sluice-analytics', nodeDeclarations(root))),
      page(go, 'reference/go.md', goPackage(go, GO, goSources(join(root, 'clients/go')))),
      page(
        segment,
        'reference/analytics-go.md',
        goPackage(segment, `${GO}/analytics-go`, goSources(join(root, 'clients/go/analytics-go'))),
      ),
    ],
    files: new Map([
      ['openapi/control.json', control],
      ['openapi/ingest.json', ingest],
    ]),
  }
}

/** For the index. Its links also make the sidebar. */
export const REFERENCE_SECTION = `## API reference

Generated from the code of this version.

${table(
  ['page', 'contains'],
  [
    ['[Control API](./reference/control/index.md)', 'every operation, parameter, field and error of control'],
    ['[Ingest API](./reference/ingest-api/index.md)', 'the same of ingest'],
    ['[Node library](./reference/node.md)', 'classes, functions and types of `sluice-analytics`'],
    ['[Go library](./reference/go.md)', `types and functions of \`${GO}\``],
    [
      '[Go: analytics-go](./reference/analytics-go.md)',
      "the package with the types of Segment's analytics-go v3",
    ],
  ],
)}

To download as OpenAPI 3.1: [control.json](/openapi/control.json), [ingest.json](/openapi/ingest.json). Licenses of the
packages in this website: [licenses.txt](/licenses.txt).`

function goSources(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.go') && !name.endsWith('_test.go'))
  return names.map((name) => readFileSync(join(folder, name), 'utf8'))
}

/** Uses a separate folder, so that a build changes no file of the library. */
function nodeDeclarations(root: string): Map<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-declarations-'))
  try {
    const project = ['--project', join(root, 'clients/node/tsconfig.build.json')]
    const options = ['--emitDeclarationOnly', '--outDir', folder]
    execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...project, ...options])
    return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
  } finally {
    rmSync(folder, { recursive: true })
  }
}
