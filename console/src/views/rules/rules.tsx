import { SegmentedControl, SimpleGrid } from '@mantine/core'
import { useState } from 'react'
import {
  type Fault,
  faultsWithin,
  fieldError,
  isWithin,
  remainingFaults,
  uncorrected,
  validationError,
  withoutCorrected,
} from '../../api/client/errors.ts'
import { type Destination, useReplaceDestination } from '../../api/destinations.ts'
import type { Rules } from '../../api/rules.ts'
import type { FieldsProps } from '../../ui/form/draft.tsx'
import { type Edited, Editing } from '../../ui/form/editing.tsx'
import { Form } from '../../ui/form/form.tsx'
import { JsonArea } from '../../ui/form/json-area.tsx'
import { Panel } from '../../ui/layout/page.tsx'
import { BodyField } from './body-field.tsx'
import { PathSuggestions } from './condition-fields.tsx'
import { fieldPointers, type RulesDraft } from './draft.ts'
import { contentOf, type Editor, editorOf, toForm, toJson } from './editor.ts'
import { FilterFields } from './filter-fields.tsx'
import { PreviewPanel } from './preview/preview.tsx'
import { namesIn } from './preview/summary.ts'
import { type PreviewState, usePreview } from './preview/use-preview.ts'
import { RedactFields, SampleFields } from './sample-and-redact-fields.tsx'

export default function DestinationRules({ destination }: { destination: Destination }) {
  // survives saving, which resets the editor
  const [prefersJson, setPrefersJson] = useState(false)
  return (
    <Editing latest={destination}>
      {(edited, key) => (
        <RulesEditor key={key} {...edited} prefersJson={prefersJson} setPrefersJson={setPrefersJson} />
      )}
    </Editing>
  )
}

type RulesEditorProps = Edited<Destination> & {
  prefersJson: boolean
  setPrefersJson: (prefersJson: boolean) => void
}

function toReplacement({ rules: _, ...rest }: Destination, rules: unknown): Destination {
  // the API checks the user's JSON
  return rules === undefined ? rest : { ...rest, rules: rules as Rules }
}

function RulesEditor({ base, onSaved, form, prefersJson, setPrefersJson }: RulesEditorProps) {
  const [editor, setEditor] = useState(() =>
    prefersJson ? toJson(editorOf(base.rules)) : editorOf(base.rules),
  )
  const { preview, obstacle, saving, error, localError, submit } = useRules({ base, onSaved, editor })
  const shown = (pointer: string) => isShown(editor, pointer)

  function edit(editor: Editor) {
    form.onChange()
    setEditor(editor)
  }

  function changeMode(editor: Editor) {
    setPrefersJson(editor.mode === 'json')
    setEditor(editor)
  }

  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }}>
      <Panel
        title="Rules"
        lead="Choose which events this destination gets and what they contain. Without rules, it gets all events unchanged."
        actions={<Mode editor={editor} onChange={changeMode} />}
      >
        <Form {...form} onSubmit={submit} saving={saving} error={localError} shown={shown}>
          <Fields
            editor={editor}
            edit={edit}
            error={error}
            seenNames={namesIn(preview.preview?.items ?? [])}
          />
        </Form>
      </Panel>
      <div className="beside">
        <PreviewPanel state={preview} obstacle={obstacle ?? faultsNote(preview, shown)} />
      </div>
    </SimpleGrid>
  )
}

type RulesOptions = Pick<RulesEditorProps, 'base' | 'onSaved'> & { editor: Editor }

/** Previews, checks and saves the content of the editor. */
function useRules({ base, onSaved, editor }: RulesOptions) {
  const [found, setFound] = useState<readonly Fault[]>([])
  const replace = useReplaceDestination()
  const { rules, faults, unreadable } = contentOf(editor)
  const replacement = toReplacement(base, rules)
  const saving = withoutCorrected(replace, replacement)
  const obstacle = obstacleOf(base, unreadable)
  const preview = usePreview(base, { rules, isAsked: obstacle === undefined })
  const remaining = [...unreadable, ...remainingFaults(found, faults)]
  const localError = remaining.length > 0 ? validationError(remaining) : undefined
  // the preview finds the same faults as saving
  const error = localError ?? saving.error ?? uncorrected(preview.error, { rules: preview.asked }, { rules })

  function submit() {
    setFound(faults)
    if (faults.length === 0) replace.mutate(replacement, { onSuccess: onSaved })
  }
  return { preview, obstacle, saving, error, localError, submit }
}

const isShown = (editor: Editor, pointer: string): boolean =>
  editor.mode === 'json'
    ? pointer === '/rules'
    : fieldPointers(editor.draft).some((field) => isWithin(pointer, field))

function obstacleOf({ sourceIds }: Destination, unreadable: readonly Fault[]): string | undefined {
  if (sourceIds.length === 0) return 'Select a source under Settings to see a preview.'
  return unreadable.length === 0 ? undefined : MARKED
}

const MARKED = 'Correct the marked fields to continue the preview.'

/** Replaces the error alert if fields show all faults. */
function faultsNote({ error, isCurrent }: PreviewState, shown: (pointer: string) => boolean) {
  const faults = isCurrent ? faultsWithin(error, '') : []
  return faults.length > 0 && faults.every(({ pointer }) => shown(pointer)) ? MARKED : undefined
}

type ModeProps = { editor: Editor; onChange: (editor: Editor) => void }

function Mode({ editor, onChange }: ModeProps) {
  const asForm = toForm(editor)
  return (
    <SegmentedControl
      size="xs"
      aria-label="Edit as"
      value={editor.mode}
      onChange={(mode) => onChange((mode === 'form' ? asForm : toJson(editor)) ?? editor)}
      data={[
        { value: 'form', label: 'Form', disabled: asForm === undefined },
        { value: 'json', label: 'JSON' },
      ]}
    />
  )
}

type EditorFieldsProps = {
  editor: Editor
  edit: (editor: Editor) => void
  error: unknown
  seenNames: readonly string[]
}

function Fields({ editor, edit, error, seenNames }: EditorFieldsProps) {
  if (editor.mode === 'json')
    return (
      <JsonArea
        label="Rules as JSON"
        description={
          toForm(editor) || error
            ? 'An object with filter, sample, redact and shape. Leave empty for no rules.'
            : 'The form cannot show these rules. Edit them here.'
        }
        rows={24}
        value={editor.text}
        onChange={(event) => edit({ mode: 'json', text: event.currentTarget.value })}
        error={fieldError(error, '/rules')}
      />
    )
  const { draft } = editor
  const fields: FieldsProps<RulesDraft> = {
    draft,
    error,
    change: (changed) => edit({ mode: 'form', draft: { ...draft, ...changed } }),
  }
  return (
    <>
      <PathSuggestions />
      <FilterFields {...fields} seenNames={seenNames} />
      <SampleFields {...fields} />
      <RedactFields {...fields} />
      <BodyField {...fields} />
    </>
  )
}
