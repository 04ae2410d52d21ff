import { Textarea, type TextareaProps } from '@mantine/core'

export const JsonArea = (props: TextareaProps) => (
  <Textarea
    styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 13 } }}
    spellCheck={false}
    autoComplete="off"
    {...props}
  />
)
