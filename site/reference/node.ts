import { code, table } from '../markdown.ts'

/**
 * Renders the compiler's declarations (`.d.ts`) as Markdown. TypeDoc needs a compiler API that TypeScript 7 lacks.
 * @param files by name; `index.d.ts` has the exports.
 */
export function nodePackage(title: string, name: string, files: ReadonlyMap<string, string>): string {
  const declarations = new Map([...files.values()].flatMap(declarationsIn).map((each) => [each.name, each]))
  const exported = [...(files.get('index.d.ts') ?? '').matchAll(/^export (?:type )?\{([^}]*)\}/gm)]
    .flatMap(([, names = '']) => names.split(','))
    .map((each) => each.replace('type ', '').trim())
    .filter((each) => declarations.has(each))
  const shown = withUsed(exported, declarations)
  const all = [...exported, ...shown.filter((each) => !exported.includes(each)).toSorted()]
  return [
    `# ${title}`,
    `\`\`\`ts\nimport { ${exported[0]} } from '${name}'\n\`\`\``,
    ...all.flatMap((each) => {
      const declaration = declarations.get(each)
      return declaration ? [`## ${each}`, ...render(declaration, exported.includes(each))] : []
    }),
  ].join('\n\n')
}

type Declaration = { name: string; comment: string; lines: readonly string[] }

const NAMED = /^(?:export )?(?:declare )?(?:class|type|interface|const|function) (\w+)/

function declarationsIn(source: string): Declaration[] {
  return statementsIn(source.split('\n'), '').flatMap(({ comment, lines }) => {
    const [, name] = NAMED.exec(lines[0] ?? '') ?? []
    return name === undefined ? [] : [{ name, comment, lines }]
  })
}

type Statement = { comment: string; lines: string[] }

/** Statements with this indentation, with the comment above each. */
function statementsIn(lines: readonly string[], indent: string): Statement[] {
  const found: Statement[] = []
  let comment: string[] = []
  let open: string[] | undefined
  for (const line of lines) {
    const isHere = line.startsWith(indent) && /^\S/.test(line.slice(indent.length))
    if (open === undefined && /^\s*(\/\*\*|\*)/.test(line)) comment.push(line)
    else if (line.trim() !== '') {
      open ??= []
      open.push(line.slice(indent.length))
      if (isHere && /[;}]$/.test(line)) {
        found.push({ comment: commentOf(comment), lines: open })
        comment = []
        open = undefined
      }
    }
  }
  return found
}

const commentOf = (lines: readonly string[]): string =>
  lines
    .map((line) => line.replace(/^\s*(\/\*\*|\*\/|\*(?!\/))\s?/, '').replace(/\s*\*\/$/, ''))
    .join('\n')
    .replaceAll(/\n?@throws /g, '\n\nThrows ')
    .trim()

/** Adds the declarations that these use: `Track` needs `Common`. */
function withUsed(names: readonly string[], declarations: ReadonlyMap<string, Declaration>): string[] {
  const found = [...names]
  // the list grows meanwhile
  for (const name of found) {
    const text = declarations.get(name)?.lines.join('\n') ?? ''
    const used = [...text.matchAll(/\b[A-Z]\w*/g)].map(([word]) => word)
    for (const word of used) if (declarations.has(word) && !found.includes(word)) found.push(word)
  }
  return found
}

function render({ comment, lines }: Declaration, isExported: boolean): string[] {
  const notes = isExported ? [comment] : ['The package does not export this name.', comment]
  const inner = statementsIn(lines.slice(1, -1), '    ').filter(
    ({ lines: [first = ''] }) => !first.startsWith('#'),
  )
  const [first = ''] = lines
  if (first.includes('class ')) return shown([...notes, ...inner.flatMap(member)])
  if (/= \{$/.test(first) && lines.at(-1) === '};' && inner.every(isField))
    return shown([...notes, fields(inner)])
  return shown([...notes, fenced(lines.join('\n'))])
}

const shown = (parts: readonly string[]) => parts.filter((part) => part !== '')

const fenced = (text: string) => `\`\`\`ts\n${text.replace(/^(export )?(declare )?/, '')}\n\`\`\``

function member({ comment, lines }: Statement): string[] {
  const [, name = ''] = /^(?:readonly )?(\w+)/.exec(lines[0] ?? '') ?? []
  return [`### ${name}`, fenced(lines.join('\n')), comment]
}

const FIELD = /^(?:readonly )?(\w+)(\??): ([\s\S]*);$/

const isField = ({ lines }: Statement) => FIELD.test(lines.join('\n'))

const fields = (inner: readonly Statement[]) =>
  table(
    ['field', 'type', 'required', 'description'],
    inner.map(({ comment, lines }) => {
      const [, name = '', optional = '', type = ''] = FIELD.exec(lines.join('\n')) ?? []
      // optional fields may also be null or undefined
      const short = optional ? type.replace(/( \| (null|undefined))+$/, '') : type
      return [code(name), code(short.replaceAll(/\s+/g, ' ')), optional ? '' : 'yes', comment]
    }),
  )
