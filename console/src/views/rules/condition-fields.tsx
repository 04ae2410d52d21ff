import { Group, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core'
import { faultsWithin, fieldError } from '../../api/client/errors.ts'
import { RemoveButton } from '../../ui/form/limited-list.tsx'
import { isOperator, OPERATORS } from '../../wording/conditions.ts'
import { type ConditionDraft, type FormOperator, hasValue, isListOperator, withOperator } from './filter.ts'
import { typeHint } from './operand.ts'

type ConditionProps = {
  condition: ConditionDraft
  /** For screen readers, such as "condition 1". */
  which: string
  pointer: string
  /** Undefined removes it. */
  onChange: (condition: ConditionDraft | undefined) => void
  error: unknown
}

export function ConditionFields({ condition, which, pointer, onChange, error }: ConditionProps) {
  return (
    <Stack gap={4}>
      <PathField
        label={`Path of ${which}`}
        path={condition.path}
        onChange={(path) => onChange({ ...condition, path })}
        onRemove={() => onChange(undefined)}
        error={fieldError(error, `${pointer}/path`)}
      />
      <Group gap="xs" wrap="nowrap" align="flex-start">
        <NativeSelect
          w={160}
          aria-label={`Operator of ${which}`}
          value={condition.operator}
          onChange={(event) => onChange(withOperator(condition, toOperator(event.currentTarget.value)))}
          data={CHOICES}
        />
        {hasValue(condition.operator) && (
          <ValueField
            condition={condition}
            which={which}
            onChange={onChange}
            error={valueError(error, pointer)}
          />
        )}
      </Group>
    </Stack>
  )
}

/** The first fault outside the path. */
function valueError(error: unknown, pointer: string): string | undefined {
  return faultsWithin(error, pointer).find((fault) => fault.pointer !== `${pointer}/path`)?.message
}

const CHOICES: { value: FormOperator; label: string }[] = [
  ...Object.entries(OPERATORS).map(([value, label]) => ({ value: toOperator(value), label })),
  { value: 'missing', label: 'is missing' },
]

function toOperator(value: string): FormOperator {
  return isOperator(value) ? value : 'missing'
}

type ValueProps = Pick<ConditionProps, 'condition' | 'which'> & {
  onChange: (condition: ConditionDraft) => void
  error: string | undefined
}

function ValueField({ condition, which, onChange, error }: ValueProps) {
  const { operator, value } = condition
  const field = {
    flex: 1,
    miw: 0,
    'aria-label': `Value of ${which}`,
    value,
    error,
    onChange: (event: { currentTarget: { value: string } }) =>
      onChange({ ...condition, value: event.currentTarget.value }),
    autoComplete: 'off',
    spellCheck: false,
    inputWrapperOrder: ORDER,
  }
  if (isListOperator(operator))
    return <Textarea {...field} rows={3} placeholder="One value per line" description={typeHint(value)} />
  if (operator === 'matches')
    return (
      <TextInput
        {...field}
        placeholder="^Order"
        description="A regular expression (RE2). Matches anywhere in the value."
      />
    )
  return <TextInput {...field} description={isTyped(operator) ? typeHint(value) : undefined} />
}

/** Whether 10 and "10" differ. */
const isTyped = (operator: FormOperator) => operator === 'eq' || operator === 'ne'

const ORDER = ['input' as const, 'description' as const, 'error' as const]

const PATHS_ID = 'rule-paths'

type PathProps = {
  label: string
  path: string
  onChange: (path: string) => void
  onRemove: () => void
  error: string | undefined
}

export function PathField({ label, path, onChange, onRemove, error }: PathProps) {
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start">
      <TextInput
        flex={1}
        miw={0}
        aria-label={label}
        placeholder="properties.total"
        list={PATHS_ID}
        value={path}
        onChange={(event) => onChange(event.currentTarget.value)}
        error={error}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
      <RemoveButton label={label.replace('Path of', 'Remove')} onClick={onRemove} />
    </Group>
  )
}

/** For all path fields. */
export const PathSuggestions = () => (
  <datalist id={PATHS_ID}>
    {PATHS.map((path) => (
      <option key={path} value={path} />
    ))}
  </datalist>
)

const PATHS = [
  ...['event', 'type', 'userId', 'anonymousId', 'previousId', 'groupId', 'name', 'category'],
  ...['properties.', 'properties["a name"]', 'properties.items[*].', 'traits.', 'traits.email', 'context.ip'],
  ...['context.userAgent', 'context.page.url', 'context.page.referrer', 'context.library.name'],
  ...['timestamp', 'receivedAt', 'messageId', 'sourceId'],
]
