/** Files with the version. `first`: replace only so many; later ones may be of a dependency. */
const VERSIONED: readonly { path: string; first?: number }[] = [
  { path: 'package.json', first: 1 },
  { path: 'package-lock.json', first: 2 },
  { path: 'clients/node/package.json', first: 1 },
  { path: 'clients/node/library.ts' },
  { path: 'clients/node/README.md' },
  { path: 'clients/go/batch.go' },
  { path: 'clients/go/README.md' },
  { path: 'docs/reference/clients.md' },
  { path: 'ops/helm/sluice/Chart.yaml' },
  { path: 'ops/kubernetes/README.md' },
  { path: 'ops/kubernetes/overlays/example/kustomization.yaml' },
]

/** The first must have changes; the libraries may have none. */
const CHANGELOGS = ['CHANGELOG.md', 'clients/node/CHANGELOG.md', 'clients/go/CHANGELOG.md'] as const

const SCHEMAS = ['attempt', 'delivery', 'event', 'rejected'].map((name) => `schemas/${name}.avsc`)

export const FILES: readonly string[] = [...VERSIONED.map(({ path }) => path), ...CHANGELOGS, ...SCHEMAS]

export type Facts = {
  /** Such as `1.0.0` or `1.1.0-rc.1`. */
  version: string
  now: Date
  branch: string
  /** Changed or untracked files. */
  unclean: readonly string[]
  tags: readonly string[]
  /** By path: all of `FILES`. */
  files: ReadonlyMap<string, string>
}

export type Plan = {
  /** Why the release is impossible, one sentence each. */
  faults: string[]
  /** Contents by path. */
  writes: Map<string, string>
  /** Of the server, the Node library, and the Go module, whose tag begins with its folder. */
  tags: string[]
}

/** If there are faults, write nothing. */
export function planRelease(facts: Facts): Plan {
  const { version, files } = facts
  const current = /^ {2}"version": "(.+)"/m.exec(files.get('package.json') ?? '')?.[1] ?? ''
  const tags = [`v${version}`, `clients/go/v${version}`]
  const faults = faultsOf(facts, current, tags)
  const writes = new Map<string, string>()
  const content = (path: string) => writes.get(path) ?? files.get(path) ?? ''
  for (const { path, first } of VERSIONED) {
    const text = replaceVersion(content(path), { current, version, first })
    if (text === undefined) faults.push(`${path} does not contain the version ${current}.`)
    else writes.set(path, text)
  }
  for (const path of CHANGELOGS) {
    const { text, fault } = closeSection(content(path), facts, path === 'CHANGELOG.md')
    if (fault) faults.push(`${path}: ${fault}`)
    else writes.set(path, text)
  }
  // versions must read each other's records (test/schemas/released.test.ts)
  for (const path of SCHEMAS)
    writes.set(path.replace('schemas/', `test/schemas/released/${version}/`), content(path))
  return { faults, writes, tags }
}

function faultsOf(
  { version, branch, unclean, tags: existing }: Facts,
  current: string,
  tags: readonly string[],
) {
  const faults: string[] = []
  const numbers = numbersOf(version)
  if (!numbers) faults.push(`"${version}" is not a version such as 1.0.0 or 1.1.0-rc.1.`)
  else if (numbers[0] > 1)
    faults.push(
      `The path of the Go module (clients/go/go.mod and imports) must end in /v${numbers[0]} first.`,
    )
  const released = [current, ...existing.flatMap((tag) => /^v(\d.*)$/.exec(tag)?.[1] ?? [])]
  const later = released.find((each) => numbers && compareVersions(each, version) > 0)
  if (later) faults.push(`${version} is older than ${later}.`)
  for (const tag of tags) if (existing.includes(tag)) faults.push(`The tag ${tag} already exists.`)
  if (branch !== 'main') faults.push(`Release from main, not from ${branch || 'a detached commit'}.`)
  if (unclean.length > 0) faults.push(`Commit or remove these files first: ${unclean.join(', ')}.`)
  return faults
}

/** Undefined if the text lacks the current version. */
function replaceVersion(
  text: string,
  { current, version, first }: { current: string; version: string; first: number | undefined },
): string | undefined {
  // not as part of a longer version
  const pattern = new RegExp(`(?<![\\d.])${RegExp.escape(current)}(?![\\d-]|\\.\\d)`, 'g')
  let count = 0
  const replaced = text.replace(pattern, (match) => {
    count += 1
    return count > (first ?? Number.POSITIVE_INFINITY) ? match : version
  })
  return count < (first ?? 1) ? undefined : replaced
}

const UNRELEASED = '## Unreleased\n'

function closeSection(
  text: string,
  { version, now }: Facts,
  needsChanges: boolean,
): { text: string; fault?: string } {
  const [before = '', after] = text.split(`\n${UNRELEASED}`)
  if (after === undefined) return { text, fault: 'there is no section "Unreleased".' }
  const isEmpty = after.split(/^## /m)[0]?.trim() === ''
  if (isEmpty && needsChanges) return { text, fault: 'the section "Unreleased" is empty.' }
  const changes = isEmpty ? `\n- No changes.\n${after}` : after
  const heading = `## ${version} - ${now.toISOString().slice(0, 10)}\n`
  return { text: `${before}\n${UNRELEASED}\n${heading}${changes}` }
}

/** Without the heading. Undefined if the changelog has no such section. */
export function notesOf(changelog: string, version: string): string | undefined {
  const section = changelog.split(/^## /m).find((each) => each.startsWith(`${version} - `))
  return section?.slice(section.indexOf('\n')).trim()
}

/** Major, minor, patch, candidate. A release comes after all its candidates. */
function numbersOf(version: string): [number, number, number, number] | undefined {
  const found = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-rc\.([1-9]\d*))?$/.exec(version)
  if (!found) return undefined
  const [, major, minor, patch, candidate] = found
  return [Number(major), Number(minor), Number(patch), Number(candidate ?? Number.POSITIVE_INFINITY)]
}

/** Negative if `a` is older than `b`. 0 if they are equal, or one is not a version. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [numbersOf(a), numbersOf(b)]
  if (!left || !right) return 0
  for (const [index, number] of left.entries()) {
    const other = right[index] ?? 0
    if (number !== other) return number < other ? -1 : 1
  }
  return 0
}
