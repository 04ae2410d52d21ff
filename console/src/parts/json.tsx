import { Code } from '@mantine/core'

/** JSON as a person reads it. A text that is none is shown as it is. */
export function Json({ value, label }: { value: unknown; label: string }) {
  return (
    <Code
      block
      fz="xs"
      mah={360}
      tabIndex={0}
      aria-label={label}
      className="in-flow"
      style={{ overflow: 'auto' }}
    >
      {typeof value === 'string' ? indented(value) : JSON.stringify(value, null, 2)}
    </Code>
  )
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
