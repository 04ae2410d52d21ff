import { slugOf } from '../markdown.ts'

/**
 * Renders a Go package as Markdown, as `go doc` would. Relies on gofmt: declarations start a line, end with a bracket
 * at the start of a line, and follow their comment.
 * @param files the sources without tests.
 */
export function goPackage(title: string, importPath: string, files: readonly string[]): string {
  const declarations = files.flatMap(declarationsIn)
  const of = (kind: Kind) => declarations.filter((each) => each.kind === kind && each.isExported)
  const types = of('type').toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const functions = of('func')
  const anchors = new Map<string, string>()
  for (const { name } of types) anchors.set(name, slugOf(`type ${name}`))
  for (const { name } of functions) anchors.set(name, slugOf(`func ${name}`))
  const render = (each: Declaration) => [
    ...(each.kind === 'func' ? [`### func ${each.name}`] : []),
    fenced(each.code),
    docOf(each.comment, anchors),
  ]
  const ofType = (name: string) => functions.filter(({ owner }) => owner === name)
  const packageDoc = declarations.find(({ kind, comment }) => kind === 'package' && comment.length > 0)
  const sections = [
    `# ${title}`,
    fenced(`import "${importPath}"`),
    docOf(packageDoc?.comment ?? [], anchors),
    ...section('Constants', of('const').flatMap(render)),
    ...section('Variables', of('var').flatMap(render)),
    ...section('Functions', functions.filter(({ owner }) => owner === undefined).flatMap(render)),
    ...types.flatMap((type) => [
      `## type ${type.name}`,
      ...render(type),
      ...ofType(type.name).flatMap(render),
    ]),
  ]
  return sections.filter((text) => text !== '').join('\n\n')
}

const section = (title: string, parts: readonly string[]) =>
  parts.length === 0 ? [] : [`## ${title}`, ...parts]

const fenced = (code: string) => `\`\`\`go\n${code}\n\`\`\``

type Kind = 'package' | 'func' | 'type' | 'var' | 'const'

type Declaration = {
  kind: Kind
  name: string
  /** A method's type, or the type that a function returns. */
  owner: string | undefined
  isExported: boolean
  comment: readonly string[]
  code: string
}

function declarationsIn(source: string): Declaration[] {
  const lines = source.split('\n')
  const found: Declaration[] = []
  let comment: string[] = []
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    const [, kind] = /^(package|func|type|var|const)\b/.exec(line) ?? []
    if (line.startsWith('//')) comment.push(line.replace(/^\/\/ ?/, ''))
    else {
      if (kind !== undefined) {
        const end = endOf(lines, at)
        found.push(declarationOf(kind as Kind, lines.slice(at, end + 1), comment))
        at = end
      }
      comment = []
    }
  }
  return found
}

/** The line of the closing bracket, or the line itself. */
function endOf(lines: readonly string[], at: number): number {
  if (!/[{(]$/.test(lines[at] ?? '')) return at
  const end = lines.findIndex((line, index) => index > at && /^[})]/.test(line))
  return end === -1 ? at : end
}

function declarationOf(kind: Kind, lines: readonly string[], comment: readonly string[]): Declaration {
  const [first = ''] = lines
  if (kind === 'func') return functionOf(first, comment)
  const [, name = ''] = /^\w+ (\w*)/.exec(first) ?? []
  const code = first.endsWith('{') || first.endsWith('(') ? exportedLines(lines) : lines
  // a group has no name; something in it must be exported
  const isExported = name === '' ? code.length > 2 : isUpper(name)
  return { kind, name, owner: undefined, isExported, comment, code: code.join('\n') }
}

function functionOf(line: string, comment: readonly string[]): Declaration {
  const code = line.replace(/ \{( .*)?$/, '')
  const [, receiver, method = ''] = /^func (?:\(\w+ \*?(\w+)\) )?(\w+)/.exec(code) ?? []
  const [, returned] = /\) \*?([A-Z]\w*)$/.exec(code) ?? []
  const name = receiver === undefined ? method : `${receiver}.${method}`
  const isExported = isUpper(method) && (receiver === undefined || isUpper(receiver))
  return { kind: 'func', name, owner: receiver ?? returned, isExported, comment, code }
}

const isUpper = (name: string) => /^[A-Z]/.test(name)

/** A struct or group without unexported members and their comments. */
function exportedLines(lines: readonly string[]): string[] {
  const kept: string[] = []
  let above: string[] = []
  let isHidden = false
  for (const line of lines.slice(1, -1)) {
    if (/^\t(\/\/|$)/.test(line) || line === '') above.push(line)
    else if (/^\t\S/.test(line)) {
      isHidden = !/^\t[*(]?[A-Z]/.test(line) && !/^\t[})]/.test(line)
      if (!isHidden) kept.push(...above, line)
      above = []
    } else if (!isHidden) kept.push(line)
  }
  const [first = '', last = ''] = [lines[0], lines.at(-1)]
  return [first, ...withoutBlankEnds(kept), last]
}

function withoutBlankEnds(lines: readonly string[]): string[] {
  const isText = (line: string) => line !== ''
  return lines.slice(Math.max(0, lines.findIndex(isText)), lines.findLastIndex(isText) + 1)
}

/** A doc comment (go.dev/doc/comment) as Markdown. */
function docOf(comment: readonly string[], anchors: ReadonlyMap<string, string>): string {
  const text = comment
    .join('\n')
    // indented lines outside lists are code
    .replaceAll(
      /(^|\n\n)((?:\t.*\n?|\n(?=\t))+)/g,
      (_, before: string, code: string) => `${before}${fenced(code.replaceAll(/^\t/gm, '').trimEnd())}\n`,
    )
    .replaceAll(/^# (.*)$/gm, '### $1')
    .replaceAll(/^ {2}- /gm, '- ')
    .replaceAll(/^ {4}/gm, '  ')
  const linked = text.replaceAll(/\[\*?((?:\w+\.)*\w+)\](?!\()/g, (_, name: string) =>
    anchors.has(name) ? `[${name}](#${anchors.get(name)})` : `\`${name}\``,
  )
  return linked.trim()
}
