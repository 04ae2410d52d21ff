import type { Fault } from '../../api/client/errors.ts'
import { draftFaults, type RulesDraft, textFaults, toDraft, toRules } from './draft.ts'

/** JSON if the form cannot show the rules. */
export type Editor = { mode: 'form'; draft: RulesDraft } | { mode: 'json'; text: string }

export const editorOf = (rules: unknown): Editor => toForm(jsonEditor(rules)) ?? jsonEditor(rules)

const jsonEditor = (rules: unknown): Editor => ({
  mode: 'json',
  text: rules === undefined ? '' : JSON.stringify(rules, null, 2),
})

export const toJson = (editor: Editor): Editor =>
  editor.mode === 'json' ? editor : jsonEditor(toRules(editor.draft))

/** @returns undefined if the text is not JSON or the form cannot show the rules. */
export function toForm(editor: Editor): Editor | undefined {
  if (editor.mode === 'form') return editor
  const rules = rulesIn(editor.text)
  const draft = rules instanceof SyntaxError ? undefined : toDraft(rules)
  return draft && { mode: 'form', draft }
}

/** Undefined for an empty text: no rules. */
function rulesIn(text: string): unknown {
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    return error instanceof SyntaxError ? error : new SyntaxError(String(error))
  }
}

/** `rules`: undefined for none. `faults`: all to correct. `unreadable`: those that prevent parsing. */
export type Content = { rules: unknown; faults: readonly Fault[]; unreadable: readonly Fault[] }

export function contentOf(editor: Editor): Content {
  if (editor.mode === 'form') {
    const { draft } = editor
    return { rules: toRules(draft), faults: draftFaults(draft), unreadable: textFaults(draft) }
  }
  const rules = rulesIn(editor.text)
  if (!(rules instanceof SyntaxError)) return { rules, faults: [], unreadable: [] }
  const message = `This is not JSON: ${rules.message}.`
  const faults: Fault[] = [{ pointer: '/rules', code: 'invalid_format', message }]
  return { rules: undefined, faults, unreadable: faults }
}
